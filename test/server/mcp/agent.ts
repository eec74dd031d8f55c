import { PassThrough } from "node:stream";
import { tmpdir } from "node:os";
import { LineTransport } from "../../../server/mcp/line_transport.ts";
import { serveStdio, type StdioOptions } from "../../../server/mcp/stdio.ts";
import { runCommand } from "../../../server/runtime/spawn.ts";
import { createTempFolder } from "../../temp_folder.ts";
import { FakeDaemon } from "./fake_daemon.ts";
import { type Answer, callTool, type Client, connectClient } from "./sdk_client.ts";

/** A connected agent, with what stands behind it. */
export interface Agent {
  client: Client;
  daemon: FakeDaemon;
  folder: string;
  /** Resolves when the server has put everything in order. */
  ended: Promise<void>;
  logs: string[];
  stop: AbortController;
  /** Calls a tool and returns its answer as the agent's host hands it on. */
  call: (name: string, args?: Record<string, unknown>) => Promise<Answer>;
  close: () => Promise<void>;
}

/** The SDK's client, connected through two pipes to the server that `gate mcp` runs. */
export async function connectAgent(options: Partial<StdioOptions> = {}): Promise<Agent> {
  const daemon = new FakeDaemon();
  const folder = createTempFolder("mcp");
  daemon.addProject("p1", folder);
  const up = new PassThrough();
  const down = new PassThrough();
  const logs: string[] = [];
  const stop = new AbortController();
  const ended = serveStdio({
    connect: daemon.connect,
    run: runCommand,
    program: () => ["gate"],
    input: up,
    output: down,
    env: { PATH: "/usr/bin:/bin", JAVA_HOME: "yes" },
    cwd: folder,
    user_home: tmpdir(),
    stop: stop.signal,
    now: Date.now,
    id: () => crypto.randomUUID(),
    identity: () => null,
    log: (line) => logs.push(line),
    ...options,
  });
  const client = await connectClient(
    new LineTransport({ input: down, output: up, log: () => {} }),
  );
  const close = async () => {
    up.end();
    await ended;
  };
  const call: Agent["call"] = (name, args) => callTool(client, name, args);
  return { client, daemon, folder, ended, logs, stop, call, close };
}

/** Looks again until it holds. */
export async function until(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (!await holds()) {
    if (Date.now() > deadline) throw new Error(`It never came to this: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** A clock by which every look at it takes five seconds, so that deadlines come soon. */
export function jumping(): () => number {
  let now = Date.now();
  return () => now += 5_000;
}

/** The id of the first action, once its call is held. */
export async function firstHeld({ daemon }: Agent): Promise<string> {
  await until(() => daemon.calls.some((call) => call.endsWith("/wait")), "the call is held");
  return [...daemon.actions.keys()][0]!;
}
