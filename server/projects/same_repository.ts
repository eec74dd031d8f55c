import { realpathSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { readSmallFile } from "../runtime/small_file.ts";

const MAX_BYTES = 1024 * 1024;

/** True when both folders are checkouts of one git repository: worktrees of it, or clones. */
export function isSameRepository(a: string, b: string): boolean {
  const [left, right] = [gitFolder(a), gitFolder(b)];
  if (!left || !right) return false;
  if (left === right) return true;
  const [from, to] = [originOf(left), originOf(right)];
  return (from !== null && (from === to || isFolder(from, b, right))) ||
    (to !== null && isFolder(to, a, left));
}

/** The git folder that all worktrees of a checkout share. */
function gitFolder(root: string): string | null {
  const dot = join(root, ".git");
  try {
    if (statSync(dot).isDirectory()) return realpathSync(dot);
    const target = /^gitdir: (.+)$/m.exec(readSmallFile(dot, MAX_BYTES))?.[1];
    if (!target) return null;
    const own = resolve(root, target.trim());
    return realpathSync(resolve(own, readSmallFile(join(own, "commondir"), MAX_BYTES).trim()));
  } catch {
    return null;
  }
}

function originOf(git: string): string | null {
  try {
    const config = readSmallFile(join(git, "config"), MAX_BYTES);
    const section = /^\[remote "origin"\]$([^[]*)/m.exec(config)?.[1] ?? "";
    return /^\s*url\s*=\s*(\S.*?)\s*$/m.exec(section)?.[1] ?? null;
  } catch {
    return null;
  }
}

/** A clone of a folder names that folder as its origin. */
function isFolder(origin: string, root: string, git: string): boolean {
  try {
    const real = realpathSync(origin.replace(/^file:\/\//, ""));
    return real === realpathSync(root) || real === git;
  } catch {
    return false;
  }
}
