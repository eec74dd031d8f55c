import { execFile } from "node:child_process";
import { selfCommand } from "./self.ts";

const MOST_BYTES = 4 * 1024 * 1024;

interface SelfOptions {
  env: Record<string, string | undefined>;
  cwd: string;
  timeout_ms: number;
  signal: AbortSignal;
}

/** The outcome of a command of this program; `code` is null if it could not start or was ended. */
export interface SelfRun {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs a command of this program in a process of its own. Never blocks and never throws. */
export function runSelf(words: readonly string[], options: SelfOptions): Promise<SelfRun> {
  const { command, args } = selfCommand();
  const { timeout_ms: timeout, ...rest } = options;
  return new Promise((resolve) => {
    execFile(
      command,
      [...args, ...words],
      { ...rest, timeout, encoding: "utf8", maxBuffer: MOST_BYTES, windowsHide: true },
      (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === "number" ? error.code : null;
        resolve({ code, stdout, stderr: stderr || (error?.message ?? "") });
      },
    );
  });
}
