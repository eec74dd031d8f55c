import { spawn } from "node:child_process";
import { CliError } from "../errors.ts";
import { readLines } from "../terminal/input.ts";
import type { Io } from "../io.ts";
import { print } from "../terminal/output.ts";
import { visibleLine } from "../terminal/visible.ts";

/** Prints what a program of the system prints, until it ends or a signal comes. @throws CliError */
export async function showOutput(io: Io, command: string[]): Promise<void> {
  const [program, ...args] = command;
  const child = spawn(program!, args, {
    env: io.env as NodeJS.ProcessEnv,
    stdio: ["ignore", "pipe", "ignore"],
  });
  let stopped = false;
  const forget = io.onSignal(() => {
    stopped = true;
    child.kill();
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  try {
    for await (const line of readLines(child.stdout)) print(io, visibleLine(line));
    const code = await ended;
    if (code === 0 || stopped) return;
    throw new CliError(`${program} ended with ${code}`, { next: "gate daemon logs" });
  } finally {
    forget();
  }
}
