import { execFile } from "node:child_process";
import process from "node:process";

const MOST_BYTES = 16 * 1024 * 1024;
const LIMIT_MS = 10_000;

/**
 * The output of a system program, or null when it fails. Never blocks. Language and time zone are
 * fixed, so that two gate processes read the same text.
 */
export function readProgram(
  command: string,
  args: readonly string[],
  { cwd, timeout_ms = LIMIT_MS }: { cwd?: string; timeout_ms?: number } = {},
): Promise<string | null> {
  return new Promise((resolve) => {
    const options = {
      cwd,
      encoding: "utf8" as const,
      env: { ...process.env, LC_ALL: "C", TZ: "UTC" },
      maxBuffer: MOST_BYTES,
      timeout: timeout_ms,
      windowsHide: true,
    };
    execFile(command, [...args], options, (error, output) => resolve(error ? null : output))
      .on("error", () => resolve(null));
  });
}
