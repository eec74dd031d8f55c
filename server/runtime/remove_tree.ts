import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { promisify } from "node:util";

const run = promisify(execFile);

/**
 * Removes a folder with everything in it and follows no link. The programs of the system help with
 * closed folders, names that are no text, and paths that are too long for one call. @throws if it stays
 */
export async function removeTree(folder: string): Promise<void> {
  try {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  } catch {
    // The removal fails too if this does.
    await run("/bin/chmod", ["-R", "u+rwX", "--", folder]).catch(() => {});
    await run("/bin/rm", ["-rf", "--", folder]);
  }
}
