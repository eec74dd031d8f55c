import { spawn } from "node:child_process";
import { join, resolve } from "node:path";
import process from "node:process";
import type { Daemon } from "../../server/daemon.ts";
import type { Gate } from "../../server/start.ts";
import { SUBJECTS, until } from "../e2e/world.ts";

/** What a stage needs of a running gate. */
export interface RunningGate extends Pick<Gate, "port" | "url" | "close"> {
  /** The daemon's own objects; only a daemon in this process has them. */
  readonly daemon?: Daemon;
}

const STOP_MS = 10_000;

/** Starts the executable's daemon with its home in that folder. @throws Error with its output */
export async function startExecutable(
  folder: string,
  port: number,
  program: string = SUBJECTS.executable[0],
): Promise<RunningGate> {
  const env = {
    PATH: process.env["PATH"]!,
    // The user whose agents and settings it may look at.
    HOME: folder,
    GATE_HOME: join(folder, "home"),
    GATE_PORT: String(port),
    NO_COLOR: "1",
  };
  const child = spawn(resolve(program), ["daemon", "start", "--foreground"], { cwd: folder, env });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => output += text);
  const url = `http://localhost:${port}`;
  await until("the executable answers", async () => {
    if (child.exitCode !== null) throw new Error(`the executable ended: ${output}`);
    return await fetch(url).then(({ ok }) => ok, () => false);
  });
  const close = async () => {
    const ended = new Promise((resolve) => child.once("close", resolve));
    child.kill("SIGTERM");
    const late = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
    await ended;
    clearTimeout(late);
  };
  return { port, url, close };
}
