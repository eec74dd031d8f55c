import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { identify } from "../../server/runtime/processes.ts";

export interface ClaudeOptions {
  /** The home of the person, whose agents the daemon watches. */
  person: string;
  /** The folder that it works in. */
  folder: string;
  session_id: string;
  status?: string;
  /** The folder that its record names, if it is another one. */
  cwd?: string;
  model?: string;
  /** The person's first request. */
  asks?: string;
  /** Starts a child with these words that listens on a port. */
  listens?: string;
}

export interface FakeClaude {
  child: ChildProcess;
  pid: number;
  /** The process and its listening child. */
  pids: number[];
  /** Records that the session is in this state now. */
  registered: (status: string) => void;
}

/** A process that calls itself `claude`, with the files that Claude Code keeps for its sessions. */
export async function startFakeClaude(options: ClaudeOptions): Promise<FakeClaude> {
  const { person, folder, session_id, listens, status = "busy", model = "opus" } = options;
  const code = "require('net').createServer().listen(0, '127.0.0.1'); console.log(process.pid)";
  const mark = { CLAUDECODE: "1", CLAUDE_CODE_SESSION_ID: session_id };
  const env = { PATH: process.env["PATH"], CODE: code, WORD: listens, ...mark };
  const script = listens === undefined
    ? "echo 0; exec -a claude sleep 1000"
    : 'node -e "$CODE" -- "$WORD" & exec -a claude sleep 1000';
  // A bash whose input is a socket reads the startup file of the person who runs the tests.
  const child = spawn("bash", ["--norc", "-c", script], { cwd: folder, env });
  const pid = child.pid!;
  const [said] = await once(child.stdout, "data");
  const pids = listens === undefined ? [pid] : [pid, Number(String(said))];
  const cwd = options.cwd ?? folder;
  const home = join(person, ".claude");
  const procStart = identify(pid)!.start_time.split(":").at(-1);
  const registered = (now: string) =>
    write(join(home, "sessions", `${pid}.json`), {
      ...{ pid, sessionId: session_id, version: "2.1.328", status: now, cwd },
      ...{ startedAt: Date.now(), procStart },
      ...now === "waiting" ? { waitingFor: "user answer" } : {},
    });
  registered(status);
  const usage = { input_tokens: 3, output_tokens: 42, cache_read_input_tokens: 15_000 };
  const content = [{ type: "tool_use", id: "t", name: "Bash", input: {} }];
  const message = { id: "m1", model, usage, content };
  if (cwd.length < 200) {
    const timestamp = new Date().toISOString();
    const asked = { type: "user", timestamp, message: { role: "user", content: options.asks } };
    write(
      join(home, "projects", cwd.replaceAll(/[^A-Za-z0-9]/g, "-"), `${session_id}.jsonl`),
      ...options.asks === undefined ? [] : [asked],
      { type: "assistant", requestId: "r", timestamp, message },
    );
  }
  return { child, pid, pids, registered };
}

function write(path: string, ...lines: object[]): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
}
