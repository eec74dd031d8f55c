import { type ChildProcess, spawn } from "node:child_process";
import {
  appendFileSync,
  closeSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import Sqlite from "libsql";
import type { World } from "../e2e/world.ts";

const RECORD_BYTES = 100 * 1024 * 1024;
const LONG_TEXT = "0123456789abcdef".repeat(500 * 1024 / 16);
const DENSE_LINE = `[${"[],".repeat(500 * 1024 / 3)}0]\n`;
const TIME = "2026-11-20T08:24:15.603Z";

/** A line of usual length, one of 500 KiB, or one as long of empty lists. */
export type LineKind = "usual" | "long" | "dense";

/** Live sessions of several agents. Their processes sleep, their records are real files. */
export interface BenchSessions {
  count: number;
  /** Adds a line to every record. */
  grow(at: number, kind?: LineKind): void;
  close(): void;
}

/** Begins 50 sessions of six agents with records of 100 MB each. Those of one agent are one file. */
export function openSessions(world: World): BenchSessions {
  const children: ChildProcess[] = [];
  const begin = (program: string): number => {
    const options = { argv0: program, cwd: world.project, stdio: "ignore" as const };
    const child = spawn("sleep", ["3600"], options);
    children.push(child);
    return child.pid!;
  };
  const records = [
    openRecord(world, "claude", claudeLine, 28, claudePath(world, begin)),
    openRecord(world, "codex", codexLine, 10, codexPath(world, begin)),
    openRecord(world, "copilot", copilotLine, 6, copilotPath(world, begin)),
    openRecord(world, "gemini", geminiLine, 3, geminiPath(world, begin)),
    openRecord(world, "qwen", qwenLine, 2, qwenPath(world, begin)),
  ];
  begin("opencode");
  const opencode = openOpencode(world);
  return {
    count: 50,
    grow(at, kind = "usual") {
      for (const { file, lineOf } of records) {
        const line = kind === "dense"
          ? DENSE_LINE
          : lineOf(at, kind === "long" ? LONG_TEXT : textOf(at));
        appendFileSync(file, line);
      }
      opencode.grow();
    },
    close() {
      opencode.close();
      for (const child of children) child.kill("SIGKILL");
    },
  };
}

type LineOf = (at: number, text: string) => string;

function openRecord(
  world: World,
  name: string,
  lineOf: LineOf,
  count: number,
  pathOf: (at: number) => string,
): { file: string; lineOf: LineOf } {
  const file = join(world.folder, `${name}.jsonl`);
  const open = openSync(file, "w");
  writeSync(open, firstLineOf(name, world));
  const piece = Array.from({ length: 500 }, (_, at) => lineOf(at, textOf(at))).join("");
  for (let left = RECORD_BYTES; left > 0; left -= piece.length) writeSync(open, piece);
  closeSync(open);
  for (let at = 0; at < count; at++) linkSync(file, pathOf(at));
  return { file, lineOf };
}

function firstLineOf(name: string, world: World): string {
  if (name === "codex") {
    const payload = { id: "x", cwd: world.project, timestamp: new Date().toISOString() };
    return `${JSON.stringify({ timestamp: TIME, type: "session_meta", payload })}\n`;
  }
  return name === "gemini" ? `${JSON.stringify({ startTime: TIME, kind: "main" })}\n` : "";
}

/** As long as many answers are. */
function textOf(at: number): string {
  return `${at} `.repeat(400);
}

function idOf(at: number): string {
  return `00000000-0000-4000-8000-${String(at).padStart(12, "0")}`;
}

function folder(...names: string[]): string {
  const path = join(...names);
  mkdirSync(path, { recursive: true });
  return path;
}

type Begin = (program: string) => number;

function claudePath(world: World, begin: Begin): (at: number) => string {
  const root = join(world.home, ".claude");
  const records = folder(root, "projects", world.project.replaceAll(/[^A-Za-z0-9]/g, "-"));
  const sessions = folder(root, "sessions");
  return (at) => {
    const pid = begin("claude");
    const known = { pid, sessionId: idOf(at), cwd: world.project, status: "busy" };
    writeFileSync(join(sessions, `${pid}.json`), JSON.stringify(known));
    return join(records, `${idOf(at)}.jsonl`);
  };
}

const claudeLine: LineOf = (at, text) => {
  const usage = { input_tokens: 3, cache_read_input_tokens: 15_000, output_tokens: 42 };
  const content = [{ type: "text", text }];
  const message = { id: `msg_${at}`, role: "assistant", model: "m", usage, content };
  return lineOf({ type: "assistant", timestamp: TIME, requestId: `req_${at}`, message });
};

function codexPath(world: World, begin: Begin): (at: number) => string {
  const today = new Date().toISOString().slice(0, 10).split("-");
  const records = folder(world.home, ".codex", "sessions", ...today);
  return (at) => {
    begin("codex");
    return join(records, `rollout-2026-11-20T08-24-15-${idOf(at)}.jsonl`);
  };
}

const codexLine: LineOf = (at, text) =>
  lineOf({
    ...{ timestamp: TIME, type: "response_item" },
    payload: { type: "message", role: "assistant", id: `m${at}`, content: [{ text }] },
  });

function copilotPath(world: World, begin: Begin): (at: number) => string {
  return (at) => {
    const session = folder(world.home, ".copilot", "session-state", idOf(at));
    const pid = begin("copilot");
    writeFileSync(join(session, `inuse.${pid}.lock`), String(pid));
    writeFileSync(join(session, "workspace.yaml"), `cwd: ${world.project}\n`);
    return join(session, "events.jsonl");
  };
}

const copilotLine: LineOf = (at, content) =>
  lineOf({ type: "assistant.message", data: { content }, id: `e${at}`, timestamp: TIME });

function geminiPath(world: World, begin: Begin): (at: number) => string {
  const root = folder(world.home, ".gemini");
  const projects = { [world.project]: "bench" };
  writeFileSync(join(root, "projects.json"), JSON.stringify({ projects }));
  const chats = folder(root, "tmp", "bench", "chats");
  return (at) => {
    begin("gemini");
    return join(chats, `session-${idOf(at)}.jsonl`);
  };
}

const geminiLine: LineOf = (at, content) =>
  lineOf({
    ...{ id: `g${at}`, timestamp: TIME, type: "gemini", content, model: "m" },
    tokens: { input: 16_203, output: 42, cached: 15_000, thoughts: 10 },
  });

function qwenPath(world: World, begin: Begin): (at: number) => string {
  const slug = world.project.replaceAll(/[^A-Za-z0-9]/g, "-");
  const chats = folder(world.home, ".qwen", "projects", slug, "chats");
  return (at) => {
    begin("qwen");
    return join(chats, `${idOf(at)}.jsonl`);
  };
}

const qwenLine: LineOf = (at, text) =>
  lineOf({
    ...{ uuid: `q${at}`, type: "assistant", timestamp: TIME, model: "m" },
    ...{ message: { parts: [{ text }] }, usageMetadata: { promptTokenCount: 16_203 } },
  });

/** A database of 100 MB, most of it in one session of 10,000 answers. */
function openOpencode(world: World): { grow(): void; close(): void } {
  const path = join(folder(world.home, ".local", "share", "opencode"), "opencode.db");
  const dump = new URL("../server/agent_monitor/fixtures/opencode/opencode.sql", import.meta.url);
  const tables = readFileSync(fileURLToPath(dump), "utf8").split("\n")
    .filter((line) => !line.startsWith("INSERT ")).join("\n");
  const database = new Sqlite(path);
  database.exec(`PRAGMA journal_mode = WAL; ${tables}`);
  const now = Date.now();
  database.prepare(
    `INSERT INTO session (id, project_id, slug, directory, title, version, time_created, time_updated)
      VALUES ('ses_bench', 'global', 's', ?, 't', '1', ?, ?)`,
  ).run(world.project, now, now + 86_400_000);
  const add = database.prepare("INSERT INTO message VALUES (?, 'ses_bench', ?, ?, ?)");
  const data = (at: number) =>
    JSON.stringify({
      role: at % 10 === 0 ? "user" : "assistant",
      time: { created: now, completed: now },
      summary: textOf(at).repeat(8).slice(0, 10_000),
    });
  let count = 0;
  const grow = () => void add.run(`msg_${++count}`, now + count, now + count, data(count));
  database.exec("BEGIN");
  for (let left = 10_000; left > 0; left--) grow();
  database.exec("COMMIT");
  return { grow, close: () => database.close() };
}

function lineOf(value: object): string {
  return `${JSON.stringify(value)}\n`;
}
