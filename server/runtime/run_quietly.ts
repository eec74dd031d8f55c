import { execFileSync } from "node:child_process";
import process from "node:process";

const TIMEOUT_MS = 10_000;

/**
 * What a program of the system prints, null when it fails. Language and time zone are fixed: what
 * two of our processes read must be the same.
 */
export function runQuietly(command: string, args: string[]): string | null {
  try {
    return execFileSync(command, args, {
      encoding: "utf8",
      env: { ...process.env, LC_ALL: "C", TZ: "UTC" },
      stdio: ["ignore", "pipe", "ignore"],
      timeout: TIMEOUT_MS,
      windowsHide: true,
    });
  } catch {
    return null;
  }
}
