import { type Dirent, lstatSync, readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { LRUCache } from "lru-cache";
import { entriesOfOwn, isGone, openEntries, openUp } from "../runtime/closed_folder.ts";
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
  /** Gate cannot look into it. */
  is_closed: boolean;
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
/** So many entries are looked through after a command, which may have made more than gate starts with. */
const MAX_ENTRIES_AFTER = 5_000_000;
/**
 * A change within this time of reading may leave the same time of change: the kernel's clock is
 * coarse, and Deno gives whole seconds.
 */
const COARSE_MS = 1_100;
const SLICE_MS = 8;

/** The files that a look below a folder finds. */
export interface FoundBelow {
  /** A hidden folder is among them without what is in it. */
  found: Found[];
  /** Whether everything was looked through. */
  is_all: boolean;
}

/** Finds the blocked and the read-only files below a folder. Folders that did not change are not read again. */
export class BlockedFiles {
  readonly #known = new LRUCache<string, Known>({ max: 32 });
  readonly #most: number;
  readonly #most_after: number;

  constructor(most_entries = MAX_ENTRIES, most_after = MAX_ENTRIES_AFTER) {
    this.#most = most_entries;
    this.#most_after = most_after;
  }

  /**
   * The files below `root` with a fate; null for too many entries. A folder that gate cannot look into
   * is hidden as a whole, because a command can open it again and knows what is in it.
   */
  async find(root: string, judge: Judge): Promise<Found[] | null> {
    const { found, is_all } = await this.#look(root, judge, { most: this.#most });
    return is_all ? found : null;
  }

  /**
   * The same after a command, however many entries it made. Folders that it closed are opened for gate,
   * except those that were found before: what is in one of them, a person's own git would run.
   */
  async findAfter(
    root: string,
    judge: Judge,
    before: ReadonlySet<string>,
  ): Promise<FoundBelow> {
    return await this.#look(root, judge, {
      most: this.#most_after,
      opens: (folder) => !before.has(folder),
    });
  }

  async #look(
    root: string,
    judge: Judge,
    { most, opens = () => false }: { most: number; opens?: (folder: string) => boolean },
  ): Promise<FoundBelow> {
    const known = this.#known.get(root);
    const old = known?.judge === judge ? known.folders : new Map<string, Seen>();
    const folders = new Map<string, Seen>();
    const found: Found[] = [];
    const queue = [root];
    let entries = 0;
    let since = performance.now();
    for (const folder of queue) {
      let seen = look(folder, old.get(folder), judge);
      if (seen?.is_closed && opens(folder) && openUp(folder)) seen = look(folder, seen, judge);
      if (seen === null) continue;
      folders.set(folder, seen);
      if ((entries += seen.entries) > most) return { found, is_all: false };
      found.push(...seen.found);
      queue.push(...seen.folders);
      if (performance.now() - since < SLICE_MS) continue;
      await setImmediate();
      since = performance.now();
    }
    this.#known.set(root, { judge, folders });
    return { found: [...found, ...otherNames(found, folders.keys())], is_all: true };
  }

  /** The folders of git below `root`, as `find` saw them last. */
  gitFolders(root: string): string[] {
    const folders = this.#known.get(root)?.folders ?? new Map<string, Seen>();
    return [...folders].filter(([, { is_git }]) => is_git).map(([path]) => path);
  }
}

/** The state of one folder, read again only after a change; null if it is gone. */
function look(folder: string, old: Seen | undefined, judge: Judge): Seen | null {
  const at = Date.now();
  try {
    const { dev, ino, ctimeNs, ctimeMs } = lstatSync(folder, { bigint: true });
    const state = `${dev} ${ino} ${ctimeNs}`;
    const isKnown = old?.state === state && !old.is_git && !old.is_closed;
    if (isKnown && old.at - Number(ctimeMs) > COARSE_MS) return old;
    return { state, at, is_closed: false, ...read(folder, judge) };
  } catch (error) {
    return isGone(error) ? null : { ...CLOSED, at, found: [closed(folder)] };
  }
}

const CLOSED = { state: "", entries: 1, is_git: false, is_closed: true, folders: [] };

function closed(folder: string): Found {
  return { path: folder, fate: "hidden", kind: "folder" };
}

function read(folder: string, judge: Judge): Omit<Seen, "state" | "at" | "is_closed"> {
  const entries = openEntries(folder);
  const names = new Set(entries.map(({ name }) => name));
  const isOwn = basename(folder) === ".git";
  const isGit = names.has("HEAD") &&
    (names.has("commondir") || (names.has("objects") && names.has("refs")));
  // Of git's own folder, what runs code is read-only, and the rest is git's business. A command can
  // give every other folder these names, so only the name of this one keeps gate from looking in.
  if (isGit && isOwn) {
    const found = [...gitParts(folder), ...namedParts(dirname(folder))];
    return { entries: entries.length, is_git: true, folders: [], found };
  }
  const folders: string[] = [];
  // One without `HEAD` becomes git's own again as soon as somebody puts it back.
  const found: Found[] = isGit || isOwn ? gitParts(folder) : [];
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
  return { entries: entries.length, is_git: isGit || isOwn, folders, found };
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
  const worktrees = join(folder, "worktrees");
  const trees = entriesOfOwn(worktrees)?.map(({ name }) => join(worktrees, name)) ?? null;
  const isFew = trees !== null && trees.length <= MOST_TREES;
  return [
    ...[folder, ...modules.is_all ? modules.folders : []].flatMap(ownParts),
    ...isFew ? trees.flatMap(ownParts) : whole(worktrees),
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
  const entries = entriesOfOwn(folder);
  if (entries === null) return whole(folder);
  const names = new Set(entries.map(({ name }) => name));
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
