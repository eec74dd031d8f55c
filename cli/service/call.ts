import { execFile, spawn } from "node:child_process";
import { systemPlaces, systemProgram } from "../../server/runtime/system_program.ts";
import { CliError } from "../errors.ts";
import type { Io } from "../io.ts";
import { readLines } from "../terminal/input.ts";
import { print } from "../terminal/output.ts";
import { visibleLine } from "../terminal/visible.ts";

/** The answer of a system program. A `code` of null means that it did not start. */
export interface Called {
  code: number | null;
  stdout: string;
  stderr: string;
}

const TIMEOUT_MS = 60_000;

/** Calls a system program with English output. */
export function call(env: Io["env"], program: string, args: string[]): Promise<Called> {
  const options = { env: { ...env, LC_ALL: "C" }, timeout: TIMEOUT_MS, encoding: "utf8" as const };
  const path = systemProgram(program, systemPlaces(env));
  if (path === null) return Promise.resolve({ code: null, stdout: "", stderr: "" });
  return new Promise((resolve) => {
    const child = execFile(path, args, options, (error, stdout, stderr) => {
      const code = error ? typeof error.code === "number" ? error.code : null : 0;
      resolve({ code, stdout, stderr });
    });
    child.stdin?.end();
  });
}

/** Prints the output of a system program until it ends or a signal comes. @throws CliError */
export async function showOutput(io: Io, command: string[]): Promise<void> {
  const [program = "", ...args] = command;
  const child = spawn(systemProgram(program, systemPlaces(io.env)) ?? program, args, {
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
