import { accessSync, chmodSync, constants, type Dirent, readdirSync, statSync } from "node:fs";
import { withFolder } from "./folder.ts";

/** Whether a path cannot be read because nothing is there. Everything else is a doubt. */
export function isGone(error: unknown): boolean {
  const { code } = error as { code?: string };
  return code === "ENOENT" || code === "ENOTDIR";
}

/**
 * Lets this user list, enter and change a folder of theirs. A command that may write the folder can
 * close it, so that nobody sees what is in it. Follows no link. Returns whether the folder is open now.
 */
export function openUp(path: string): boolean {
  try {
    withFolder(path, (folder) => {
      const own = folder.at("");
      chmodSync(own, (statSync(own).mode & 0o7777) | 0o700);
    });
    return true;
  } catch {
    return false; // it belongs to another user, or is gone
  }
}

/** The entries of a folder that this user can list and enter. @throws the error of the file system */
export function openEntries(folder: string): Dirent[] {
  // Without the right to enter it, nothing in it can be looked at.
  accessSync(folder, constants.R_OK | constants.X_OK);
  return readdirSync(folder, { withFileTypes: true });
}

/**
 * The entries of a folder in git's own one, opened for it if a command has closed it; none if it is
 * gone. Null if nobody can tell.
 */
export function entriesOfOwn(folder: string): Dirent[] | null {
  for (let isOpened = false;; isOpened = true) {
    try {
      return openEntries(folder);
    } catch (error) {
      if (isGone(error)) return [];
      if (isOpened || !openUp(folder)) return null;
    }
  }
}
