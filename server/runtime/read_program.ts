import { execFile, type ExecFileException } from "node:child_process";
import process from "node:process";
import { systemProgram } from "./system_program.ts";

const MOST_BYTES = 16 * 1024 * 1024;
const LIMIT_MS = 10_000;

export interface ReadOptions {
  cwd?: string;
  timeout_ms?: number;
  is_partial?: boolean;
}

/**
 * The output of a system program, or null when it fails. Never blocks. Language and time zone are
 * fixed, so that two gate processes read the same text. With `is_partial` the output counts whatever
 * the exit code is: `lsof` fails if one of many processes has ended.
 */
export function readProgram(
  command: string,
  args: readonly string[],
  { cwd, timeout_ms = LIMIT_MS, is_partial = false }: ReadOptions = {},
): Promise<string | null> {
  const program = systemProgram(command);
  if (program === null) return Promise.resolve(null);
  return new Promise((resolve) => {
    const options = {
      cwd,
      encoding: "utf8" as const,
      env: { ...process.env, LC_ALL: "C", TZ: "UTC" },
      maxBuffer: MOST_BYTES,
      timeout: timeout_ms,
      windowsHide: true,
    };
    const isUsable = (error: ExecFileException | null) =>
      error === null || (is_partial && typeof error.code === "number" && !error.killed);
    execFile(
      program,
      [...args],
      options,
      (error, output) => resolve(isUsable(error) ? output : null),
    )
      .on("error", () => resolve(null));
  });
}
