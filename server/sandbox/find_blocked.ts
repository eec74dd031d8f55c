import { type Dirent, lstatSync, readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { LRUCache } from "lru-cache";
import { modulesOf } from "../runtime/git_folder.ts";
import { namedByRepository } from "../runtime/git_named.ts";
import type { Fate, Judge } from "./judge.ts";
import { isUnnamed } from "./unnamed.ts";

/** A file or folder that is hidden or read-only in the sandbox. */
export interface Found {
  path: string;
  fate: Fate;
  /** `unnamed`: its name is no text, so that nothing can be put over it. */
  kind: "file" | "folder" | "link" | "unnamed";
  /** It is kept in place of the parts in it, which are too many. */
  is_whole?: true;
}

/** One folder as it was read. */
interface Seen {
  state: string;
  /** When it was read, in milliseconds since 1970. */
  at: number;
  entries: number;
  /** It is one of git's, so what was found also lies deeper than in the folder itself. */
  is_git: boolean;
  folders: string[];
  found: Found[];
}

/** The folders below one root, as judged by one judge. */
interface Known {
  judge: Judge;
  folders: Map<string, Seen>;
}

/** A project with more entries gets no sandbox. */
const MAX_ENTRIES = 200_000;
/**
 * A change within this time of reading may leave the same time of change: the kernel's clock is
 * coarse, and Deno gives whole seconds.
 */
const COARSE_MS = 1_100;
const SLICE_MS = 8;

/** Finds the blocked and the read-only files below a folder. Folders that did not change are not read again. */
export class BlockedFiles {
  readonly #known = new LRUCache<string, Known>({ max: 32 });
  readonly #most: number;

  constructor(most_entries = MAX_ENTRIES) {
    this.#most = most_entries;
  }

  /** The files below `root` with a fate, a hidden folder without what is in it; null for too many entries. */
  async find(root: string, judge: Judge): Promise<Found[] | null> {
    const known = this.#known.get(root);
    const old = known?.judge === judge ? known.folders : new Map<string, Seen>();
    const folders = new Map<string, Seen>();
    const found: Found[] = [];
    const queue = [root];
    let entries = 0;
    let since = performance.now();
    for (const folder of queue) {
      const seen = look(folder, old.get(folder), judge);
      if (seen === null) continue;
      folders.set(folder, seen);
      found.push(...seen.found);
      queue.push(...seen.folders);
      if ((entries += seen.entries) > this.#most) return null;
      if (performance.now() - since < SLICE_MS) continue;
      await setImmediate();
      since = performance.now();
    }
    this.#known.set(root, { judge, folders });
    return [...found, ...otherNames(found, folders.keys())];
  }

  /** The folders of git below `root`, as `find` saw them last. */
  gitFolders(root: string): string[] {
    const folders = this.#known.get(root)?.folders ?? new Map<string, Seen>();
    return [...folders].filter(([, { is_git }]) => is_git).map(([path]) => path);
  }
}

/** The state of one folder, read again only after a change; null if it is gone. */
function look(folder: string, old: Seen | undefined, judge: Judge): Seen | null {
  try {
    const at = Date.now();
    const { dev, ino, ctimeNs, ctimeMs } = lstatSync(folder, { bigint: true });
    const state = `${dev} ${ino} ${ctimeNs}`;
    if (old?.state === state && !old.is_git && old.at - Number(ctimeMs) > COARSE_MS) return old;
    return { state, at, ...read(folder, judge) };
  } catch {
    return null;
  }
}

function read(folder: string, judge: Judge): Omit<Seen, "state" | "at"> {
  const entries = readdirSync(folder, { withFileTypes: true });
  const names = new Set(entries.map(({ name }) => name));
  const isGit = names.has("HEAD") &&
    (names.has("commondir") || (names.has("objects") && names.has("refs")));
  // Of git's own folder, what runs code is read-only, and the rest is git's business. A command can
  // give every other folder these names, so only the name of this one keeps gate from looking in.
  if (isGit && basename(folder) === ".git") {
    const found = [...gitParts(folder), ...namedParts(dirname(folder))];
    return { entries: entries.length, is_git: true, folders: [], found };
  }
  const folders: string[] = [];
  const found: Found[] = isGit ? gitParts(folder) : [];
  for (const entry of entries) {
    const path = join(folder, entry.name);
    const kind = kindOf(entry);
    if (isUnnamed(path)) {
      // The names in such a folder cannot be read either.
      const fate = kind === "folder" ? "hidden" : judge(path);
      if (fate !== null) found.push({ path, fate, kind: "unnamed" });
      continue;
    }
    // A service of the machine listens there, outside of the sandbox.
    const isSpecial = kind === "special";
    const fate = isSpecial
      ? "hidden"
      : entry.name === ".git" && kind === "folder"
      ? null
      : judge(path);
    if (fate !== null) found.push({ path, fate, kind: isSpecial ? "file" : kind });
    if (kind === "folder" && fate !== "hidden") folders.push(path);
  }
  return { entries: entries.length, is_git: isGit, folders, found };
}

function kindOf(entry: Dirent): Found["kind"] | "special" {
  if (entry.isFile()) return "file";
  if (entry.isDirectory()) return "folder";
  return entry.isSymbolicLink() ? "link" : "special";
}

/** The files in a folder of git with which git runs a program. */
const RUNS = ["config", "config.worktree", "hooks", "info", "commondir"];

/** The parts of a git folder, and of its submodules, that make git run a program. */
export function gitParts(folder: string): Found[] {
  const modules = modulesOf(folder);
  const trees = namesIn(join(folder, "worktrees")).map((name) => join(folder, "worktrees", name));
  return [
    ...[folder, ...modules.is_all ? modules.folders : []].flatMap(ownParts),
    ...trees.length > MOST_TREES ? whole(join(folder, "worktrees")) : trees.flatMap(ownParts),
    ...modules.is_all ? [] : whole(join(folder, "modules")),
  ];
}

/** With more working trees, the folder around them is kept as a whole. */
const MOST_TREES = 50;

/** The parts beside these ones in the same folders of git, however many others lie around them. */
export function partsBeside(paths: readonly string[]): Found[] {
  const own = paths.filter((path) => RUNS.includes(basename(path)));
  return [...new Set(own.map(dirname))].flatMap(ownParts);
}

/** What the settings of the repository with this working folder name in it. */
export function namedParts(root: string): Found[] {
  const { files, folders } = namedByRepository(root);
  return [...files, ...folders].flatMap(keptFile);
}

function whole(path: string): Found[] {
  return keptFile(path).map((one) => ({ ...one, is_whole: true }));
}

function ownParts(folder: string): Found[] {
  const names = new Set(namesIn(folder));
  return RUNS.filter((name) => names.has(name)).flatMap((name) => keptFile(join(folder, name)));
}

/** The file, folder or link as one that stays as it is; none if it is gone. */
export function keptFile(path: string): Found[] {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (!stats) return [];
  const kind = stats.isSymbolicLink() ? "link" : stats.isDirectory() ? "folder" : "file";
  return [{ path, fate: "read_only", kind }];
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** The other names of hidden files, which are hidden too. */
function otherNames(found: readonly Found[], folders: Iterable<string>): Found[] {
  const linked = new Set<string>();
  const known = new Set(found.map(({ path }) => path));
  for (const { path, fate, kind } of found) {
    const key = fate === "hidden" && kind === "file" ? linkOf(path) : null;
    if (key !== null) linked.add(key);
  }
  if (linked.size === 0) return [];
  const others: Found[] = [];
  for (const folder of folders) {
    for (const name of namesIn(folder)) {
      const path = join(folder, name);
      if (known.has(path)) continue;
      const key = linkOf(path);
      if (key !== null && linked.has(key)) others.push({ path, fate: "hidden", kind: "file" });
    }
  }
  return others;
}

/** A key that all names of one file share; null for a file with one name. */
function linkOf(path: string): string | null {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats?.isFile() && stats.nlink > 1 ? `${stats.dev} ${stats.ino}` : null;
}
