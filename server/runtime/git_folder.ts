import { lstatSync, readdirSync, readFileSync, type Stats, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { LRUCache } from "lru-cache";

/** A file of this kind holds one path. */
const MOST_BYTES = 4_096;

/** Whether git would take its settings and hooks from this folder. */
export function isGitFolder(folder: string): boolean {
  if (!lookAt(join(folder, "HEAD"))) return false;
  if (lookAt(join(folder, "commondir"))) return true;
  return isFolder(join(folder, "objects")) && isFolder(join(folder, "refs"));
}

/**
 * The folders from which git takes settings and hooks for a working folder: its `.git`, or the folder
 * that a `.git` file names, and the folder that several working folders share.
 */
export function gitFoldersOf(folder: string): string[] {
  const git = join(folder, ".git");
  const named = lookAt(git)?.isDirectory() === false ? pathIn(git, /^gitdir:\s*(.+?)\s*$/s) : null;
  const own = named === null ? git : resolve(folder, named);
  return [...new Set([git, ...withShared(own)])];
}

/** The branch that is checked out in a working folder; null outside of a repository or without one. */
export function branchOf(folder: string): string | null {
  for (const git of gitFoldersOf(folder)) {
    const branch = pathIn(join(git, "HEAD"), /^ref: refs\/heads\/(.+?)\s*$/s);
    if (branch !== null) return branch;
  }
  return null;
}

/** A folder of git, and the folder that it shares with other working folders. */
export function withShared(own: string): string[] {
  const shared = pathIn(join(own, "commondir"), /^\s*(.+?)\s*$/s);
  return shared === null ? [own] : [own, resolve(own, shared)];
}

/** More folders below `modules` are not searched. */
const MOST_BELOW_MODULES = 200;

/**
 * The folders of git of the submodules of this one, and of theirs. The name of a submodule may have
 * slashes. Null for too many.
 */
export function moduleFoldersOf(git: string): string[] | null {
  const found: string[] = [];
  const queue = [join(git, "modules")];
  for (const folder of queue) {
    for (const path of foldersIn(folder)) {
      const isOwn = lookAt(join(path, "HEAD")) !== null;
      if (isOwn) found.push(path);
      queue.push(isOwn ? join(path, "modules") : path);
    }
    if (queue.length > MOST_BELOW_MODULES) return null;
  }
  return found;
}

function foldersIn(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).filter((one) => one.isDirectory())
      .map(({ name }) => join(folder, name));
  } catch {
    return []; // there is none
  }
}

interface Known {
  state: string;
  path: string | null;
}

const KNOWN = new LRUCache<string, Known>({ max: 1_000 });

/** The path that a small file holds; null if there is none. Read again only after a change. */
function pathIn(file: string, form: RegExp): string | null {
  let stats: Stats | undefined;
  try {
    stats = statSync(file, { throwIfNoEntry: false });
    if (!stats?.isFile() || stats.size > MOST_BYTES) return null;
    const state = `${stats.ino} ${stats.size} ${stats.mtimeMs} ${stats.ctimeMs}`;
    const known = KNOWN.get(file);
    if (known?.state === state) return known.path;
    const path = form.exec(readFileSync(file, "utf8"))?.[1] ?? null;
    const usable = path === null || path.includes("\0") ? null : path;
    KNOWN.set(file, { state, path: usable });
    return usable;
  } catch {
    return null;
  }
}

function lookAt(path: string): Stats | null {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) ?? null;
  } catch {
    return null;
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
  } catch {
    return false;
  }
}

/** The nearest folder above a path, or the path itself, that git takes settings from; null if none. */
export function gitFolderAbove(path: string): string | null {
  let at = path;
  for (let left = MOST_FOLDERS; left > 0 && dirname(at) !== at; left--) {
    if (isGitFolder(at)) return at;
    at = dirname(at);
  }
  return null;
}

const MOST_FOLDERS = 64;
