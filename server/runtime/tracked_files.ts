import { existsSync, type Stats, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { LRUCache } from "lru-cache";
import { gitFoldersOf, isGitFolder } from "./git_folder.ts";
import { type IndexNames, parseIndex } from "./git_index.ts";
import { type FoundLinks, gitLinksOf } from "./git_links.ts";
import { readSmallBytes } from "./small_file.ts";
import { type History, historyOf } from "./tracked_history.ts";

/** A repository and the names that its index lists. */
export interface Repository {
  /** The top folder of its working files. */
  root: string;
  /** Paths relative to the root; null if they cannot be read. The same names are the same array. */
  files: readonly string[] | null;
  /** Folders whose files the index does not list. */
  folders: readonly string[];
  /** Folders of submodules. */
  modules: readonly string[];
  /** The names in all commits; asked for only if a command shows commits. */
  history: () => History;
}

/** Larger indexes are not read. */
const MOST_BYTES = 32 * 1024 * 1024;
const MOST_FOLDERS = 64;

/** A look at repositories that remembers which histories it asked for. */
export interface Repositories {
  /** The links of the repository in which git works in a folder; null if gate cannot tell. */
  git_links(folder: string): FoundLinks | null;
  /** The repository in which git works in a folder; null if there is none. */
  repository(folder: string): Repository | null;
  /** Resolves when those histories are read, or after about a second; null if none is being read. */
  settle(): Promise<void> | null;
}

/** How long a decision waits for git to list names. */
const MOST_WAIT_MS = 1_000;

/** Looks at repositories for one decision. */
export function openRepositories(): Repositories {
  const asked = new Set<History>();
  return {
    git_links(folder) {
      const found = locate(folder);
      if (found === null) return { links: [], objects: [] };
      return gitLinksOf([...new Set([found.git, found.shared])]);
    },
    repository(folder) {
      const found = locate(folder);
      if (found === null) return null;
      const { root, git, shared } = found;
      const { files = null, folders = [], modules = [] } = namesIn(git) ?? {};
      const history = () => {
        const one = historyOf(shared);
        asked.add(one);
        return one;
      };
      return { root, files, folders, modules, history };
    },
    settle() {
      const running = [...asked].map((one) => one.running).filter((one) => one !== null);
      return running.length > 0 ? atMost(Promise.all(running), MOST_WAIT_MS) : null;
    },
  };
}

async function atMost(done: Promise<unknown>, ms: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout>;
  const late = new Promise<void>((resolve) => timer = setTimeout(resolve, ms));
  await Promise.race([done, late]).finally(() => clearTimeout(timer));
}

/** A repository: its top folder, git's own folder for it, and the folder with the commits. */
interface Place {
  root: string;
  git: string;
  shared: string;
}

function locate(folder: string): Place | null {
  let at = folder;
  for (let left = MOST_FOLDERS; left > 0; left--) {
    const found = placeAt(at);
    if (found || dirname(at) === at) return found;
    at = dirname(at);
  }
  return null;
}

/** The repository whose working files, or whose own folder, this is; null for another folder. */
function placeAt(folder: string): Place | null {
  if (statOf(join(folder, ".git"))) {
    const folders = gitFoldersOf(folder);
    return { root: folder, git: folders[1] ?? folders[0]!, shared: folders.at(-1)! };
  }
  if (!isGitFolder(folder)) return null;
  const root = basename(folder) === ".git" ? dirname(folder) : folder;
  return { root, git: folder, shared: folder };
}

const NOTHING: IndexNames = { files: [], folders: [], modules: [], shared: null };

interface Known {
  state: string;
  names: IndexNames | null;
}

const KNOWN = new LRUCache<string, Known>({ max: 100 });

/** The names in the index of git's folder and in the index that it shares; null if unknown. */
function namesIn(git: string): IndexNames | null {
  const index = join(git, "index");
  // For git a missing index is an empty one.
  const names = existsSync(index) ? read(index) : NOTHING;
  if (!names?.shared) return names;
  const shared = read(join(git, names.shared));
  if (shared === null) return null;
  return merge(join(git, names.shared), names, shared);
}

/** Read again only after a change. */
function read(path: string): IndexNames | null {
  const stats = statOf(path);
  if (!stats?.isFile() || stats.size > MOST_BYTES) return null;
  const state = `${stats.ino} ${stats.size} ${stats.mtimeMs} ${stats.ctimeMs}`;
  const known = KNOWN.get(path);
  if (known?.state === state) return known.names;
  const names = readNames(path, known?.names ?? null);
  KNOWN.set(path, { state, names });
  return names;
}

/** Most changes of an index change no name; the old arrays then stay, and what is known of them. */
function readNames(path: string, old: IndexNames | null): IndexNames | null {
  let bytes: Uint8Array;
  try {
    bytes = readSmallBytes(path, MOST_BYTES);
  } catch {
    return null;
  }
  const names = parseIndex(bytes);
  return names && old && isSame(names, old) ? old : names;
}

const MERGED = new LRUCache<string, { own: IndexNames; shared: IndexNames; both: IndexNames }>({
  max: 20,
});

/** The names of both. The index may delete names of the shared one; those count all the same. */
function merge(path: string, own: IndexNames, shared: IndexNames): IndexNames {
  const known = MERGED.get(path);
  if (known?.own === own && known.shared === shared) return known.both;
  const both = {
    files: [...new Set([...shared.files, ...own.files])],
    folders: [...new Set([...shared.folders, ...own.folders])],
    modules: [...new Set([...shared.modules, ...own.modules])],
    shared: null,
  };
  MERGED.set(path, { own, shared, both });
  return both;
}

function isSame(one: IndexNames, other: IndexNames): boolean {
  return one.shared === other.shared && isEqual(one.files, other.files) &&
    isEqual(one.folders, other.folders) && isEqual(one.modules, other.modules);
}

function isEqual(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((name, at) => name === other[at]);
}

function statOf(path: string): Stats | null {
  try {
    return statSync(path, { throwIfNoEntry: false }) ?? null;
  } catch {
    return null;
  }
}
