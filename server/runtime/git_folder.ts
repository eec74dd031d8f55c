import { type Dirent, lstatSync, type Stats, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { createGrowingCache } from "../growing_cache.ts";
import { entriesOfOwn } from "./closed_folder.ts";
import { readSmallBytes } from "./small_file.ts";

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

/** Folders of submodules, beside each of which a sandbox has mounts. */
const MOST_BELOW_MODULES = 200;

/** The folders of git of submodules. */
export interface Modules {
  folders: string[];
  /** All folders that were looked into: these, and the ones around them. */
  looked: string[];
  /** Whether all were found; otherwise there were too many folders to look into. */
  is_all: boolean;
}

/** Folders that git makes in its own ones, and that hold no submodule. */
const OF_GIT = new Set(["objects", "refs", "logs", "hooks", "info", "branches", "lfs"]);

/**
 * The folders of git of the submodules of this one, and of theirs. The name of a submodule may have
 * slashes. A folder counts before it has all that git needs, as the rest may be added later.
 */
export function modulesOf(git: string, most = MOST_BELOW_MODULES): Modules {
  return modulesBelow(join(git, "modules"), most);
}

function modulesBelow(top: string, most: number): Modules {
  const folders: string[] = [];
  const looked = [top];
  let isAll = true;
  for (const folder of looked) {
    const entries = entriesOfOwn(folder);
    if (entries === null) isAll = false;
    if (entries === null) continue;
    if (folder !== top && entries.some(marksModule)) folders.push(folder);
    for (const name of innerFolders(entries, folder === top)) {
      isAll = isAll && looked.length <= most;
      if (!isAll) break;
      looked.push(join(folder, name));
    }
  }
  return { folders, looked, is_all: isAll };
}

/** The names of the folders in one of these that may hold submodules. */
function innerFolders(entries: readonly Dirent[], isTop: boolean): string[] {
  const isModule = !isTop && entries.some(({ name }) => name === "HEAD");
  return entries.filter((entry) => entry.isDirectory() && !(isModule && OF_GIT.has(entry.name)))
    .map(({ name }) => name);
}

/**
 * The entries among the submodules' folders of git that are not among the known ones: links, and with
 * `folders` also folders that hold a submodule or more than can be looked through. Outermost ones only.
 */
export function modulesBeside(
  git: string,
  known: readonly string[],
  { folders }: { folders: boolean },
): string[] {
  const top = join(git, "modules");
  if (lookAt(top)?.isSymbolicLink()) return [top];
  const isKnown = new Set([top, ...known]);
  return [...isKnown].flatMap((folder) => {
    const entries = entriesOfOwn(folder) ?? [];
    const links = entries.filter((entry) => entry.isSymbolicLink()).map(({ name }) => name);
    const below = folders ? innerFolders(entries, folder === top) : [];
    return [
      ...links.map((name) => join(folder, name)),
      ...below.map((name) => join(folder, name)).filter((path) =>
        !isKnown.has(path) && holdsModule(path)
      ),
    ];
  });
}

function holdsModule(folder: string): boolean {
  const { folders, is_all } = modulesBelow(folder, MOST_BELOW_MODULES);
  return !is_all || folders.length > 0 || (entriesOfOwn(folder) ?? []).some(marksModule);
}

/** Whether git would take something from the folder that holds this. */
function marksModule(entry: Dirent): boolean {
  if (entry.name === "HEAD" || entry.name === "config") return !entry.isDirectory();
  return entry.name === "hooks";
}

interface Known {
  state: string;
  path: string | null;
}

const KNOWN = createGrowingCache<Known>(1_000);

/** The path that a small file holds; null if there is none. Read again only after a change. */
function pathIn(file: string, form: RegExp): string | null {
  let stats: Stats | undefined;
  try {
    stats = statSync(file, { throwIfNoEntry: false });
    if (!stats?.isFile() || stats.size > MOST_BYTES) return null;
    const state = `${stats.ino} ${stats.size} ${stats.mtimeMs} ${stats.ctimeMs}`;
    const known = KNOWN.get(file);
    if (known?.state === state) return known.path;
    const path = form.exec(new TextDecoder().decode(readSmallBytes(file, MOST_BYTES)))?.[1] ?? null;
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
