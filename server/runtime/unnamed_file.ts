import { constants, openSync } from "node:fs";
import type { Folder } from "./folder.ts";
import { readySystemCalls } from "./system_calls.ts";

/** Linux: a file without a name. The first number is the same on x64 and arm64. */
const O_TMPFILE = 0o20000000 | (constants.O_DIRECTORY ?? 0);

/** Stands for the current folder; the paths here are absolute. */
const AT_FDCWD = -100;
const AT_SYMLINK_FOLLOW = 0x400;

/** Whether this process can name such a file. The first call begins to prepare it and returns false. */
export function canNameFiles(): boolean {
  return readySystemCalls() !== null;
}

/**
 * Opens a new file without a name in a folder, for writing. It is gone when it is closed, unless
 * `nameFile` has named it. Returns null where the file system has no such files, and on every other
 * error.
 */
export function createUnnamed(folder: Folder): number | null {
  try {
    return openSync(folder.at("."), constants.O_WRONLY | O_TMPFILE, 0o600);
  } catch {
    return null;
  }
}

/** Gives the file its name. Returns false if it could not, for example because another file has it. */
export function nameFile(fd: number, path: string): boolean {
  const calls = readySystemCalls();
  if (calls === null) return false;
  const from = new TextEncoder().encode(`/proc/self/fd/${fd}\0`);
  const to = new TextEncoder().encode(`${path}\0`);
  return calls.call(calls.numbers.linkat, AT_FDCWD, from, AT_FDCWD, to, AT_SYMLINK_FOLLOW) === 0;
}
