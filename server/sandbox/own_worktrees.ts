import { lstatSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { readSmallFile } from "../runtime/small_file.ts";

const MOST_BYTES = 4_096;
/** The folder that a working tree shares, as git writes it. */
const SHARED = "../..\n";

/**
 * Whether this file is one of the two that `git worktree add` makes and that lead into one of these
 * folders of git: then git takes settings and hooks from that folder, which no command changes.
 */
export function isOfOwnTree(path: string, git_folders: readonly string[]): boolean {
  switch (basename(path)) {
    case ".git": {
      const [, own] = /^gitdir: (\/[^\n]+)\n$/.exec(textOf(path) ?? "") ?? [];
      return own !== undefined && isOwnTree(own, git_folders);
    }
    case "commondir":
      return isOwnTree(dirname(path), git_folders);
    default:
      return false;
  }
}

/** Whether a folder is git's own one of a working tree of these folders of git. */
function isOwnTree(own: string, git_folders: readonly string[]): boolean {
  const isPlace = git_folders.some((git) => own === join(git, "worktrees", basename(own)));
  // No link leads elsewhere: a command could change where.
  return isPlace && [own, dirname(own)].every(isFolder) &&
    textOf(join(own, "commondir")) === SHARED;
}

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function textOf(path: string): string | null {
  try {
    return lstatSync(path).isFile() ? readSmallFile(path, MOST_BYTES) : null;
  } catch {
    return null; // it is gone, or no text
  }
}
