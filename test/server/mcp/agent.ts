import { PassThrough } from "node:stream";
import { mkdtemp, realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LineTransport } from "../../../server/mcp/line_transport.ts";
import { serveStdio, type StdioOptions } from "../../../server/mcp/stdio.ts";
import { runCommand } from "../../../server/runtime/spawn.ts";
import { FakeDaemon } from "./fake_daemon.ts";
import { Client } from "./sdk_client.ts";

/** A connected agent, with what stands behind it. */
export interface Agent {
  client: Client;
  daemon: FakeDaemon;
  folder: string;
  /** Resolves when the server has put everything in order. */
  ended: Promise<void>;
  logs: string[];
  stop: AbortController;
  /** What a tool answered, as the agent's host hands it on. */
  call: (name: string, args?: Record<string, unknown>) => Promise<Answer>;
  close: () => Promise<void>;
}

export interface Answer {
  isError: boolean;
  body: Record<string, unknown>;
}

/** The SDK's client, connected through two pipes to the server that `gate mcp` runs. */
export async function connectAgent(options: Partial<StdioOptions> = {}): Promise<Agent> {
  const daemon = new FakeDaemon();
  const folder = await realpath(await mkdtemp(join(tmpdir(), "gate-mcp-")));
  daemon.addProject("p1", folder);
  const up = new PassThrough();
  const down = new PassThrough();
  const logs: string[] = [];
  const stop = new AbortController();
  const ended = serveStdio({
    connect: daemon.connect,
    run: runCommand,
    input: up,
    output: down,
    env: { PATH: "/usr/bin:/bin", FROM_AGENT: "yes" },
    cwd: folder,
    user_home: tmpdir(),
    stop: stop.signal,
    now: Date.now,
    id: () => crypto.randomUUID(),
    log: (line) => logs.push(line),
    ...options,
  });
  const client = new Client({ name: "claude-code", version: "2.1" });
  await client.connect(new LineTransport({ input: down, output: up, log: () => {} }));
  const close = async () => {
    up.end();
    await ended;
  };
  const call = async (name: string, args: Record<string, unknown> = {}) =>
    toAnswer(await client.callTool({ name, arguments: args }));
  return { client, daemon, folder, ended, logs, stop, call, close };
}

/** Both forms of an answer; throws where they differ. */
export function toAnswer(result: Awaited<ReturnType<Client["callTool"]>>): Answer {
  const [text] = result.content as { type: string; text: string }[];
  const structured = JSON.stringify(result.structuredContent);
  if (text?.text !== structured) throw new Error(`text ${text?.text} is not ${structured}`);
  return {
    isError: result.isError === true,
    body: result.structuredContent as Record<string, unknown>,
  };
}

/** Looks again until it holds. */
export async function until(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (!await holds()) {
    if (Date.now() > deadline) throw new Error(`It never came to this: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
