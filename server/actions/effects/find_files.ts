import { type Dirent, lstatSync, readdirSync, type Stats } from "node:fs";
import { basename, dirname, join } from "node:path";
import { setImmediate as pause } from "node:timers/promises";
import { type NameTest, noText, type Touched } from "../../policy/foresee.ts";
import { missingFolders } from "../../runtime/folder.ts";
import { resolvePath } from "../../runtime/real_path.ts";
import { shownPath } from "../submit/target.ts";

/** The most files that are kept for one command. */
export const MAX_FILES = 1_000;
/** The most bytes of all kept files together. */
const MAX_TOTAL = 128 * 1024 * 1024;

/** The most names that are listed to find them. */
const MAX_LISTED = 20_000;
/** The most names that are not UTF-8 of which the record tells. */
const MAX_TOLD = 20;

/** The files and folders that a command may write or delete. All paths are real. */
export interface FoundFiles {
  files: Map<string, { bytes: number; mode: number }>;
  /** Modes by folder. */
  folders: Map<string, number>;
  /** Paths where nothing exists, with their missing parent folders. */
  absent: Set<string>;
  /** Existing paths that cannot be kept: links, devices, files that are too large. */
  unkept: Set<string>;
  /** Sentences: which of them have names that are not UTF-8. */
  unnamed: string[];
  /** The real paths where the search began. */
  starts: Set<string>;
  /** Sentences: why something is not kept. */
  gaps: string[];
  /** Whether the search was complete. */
  is_whole: boolean;
}

/** Lists names and sizes only, so the cost does not depend on the size of the files. */
export async function findFiles(
  touched: readonly Touched[],
  options: SearchOptions,
): Promise<FoundFiles> {
  const search = new Search(options);
  for (const one of touched) {
    if (search.found.is_whole) await search.find(one);
  }
  return search.found;
}

interface SearchOptions {
  root: string;
  maxBlobBytes: number;
  /** Real paths where nothing existed before: everything below them now counts. */
  absent: ReadonlySet<string>;
  /**
   * The only paths where the search may begin: a command may have put a link to another folder above
   * one of them, and what lies there is none of its effects. Null for all.
   */
  starts: ReadonlySet<string> | null;
}

class Search {
  readonly found: FoundFiles = {
    files: new Map(),
    folders: new Map(),
    absent: new Set(),
    unkept: new Set(),
    unnamed: [],
    starts: new Set(),
    gaps: [],
    is_whole: true,
  };
  readonly #options: SearchOptions;
  #looked = 0;
  #listed = 0;
  #tested = 0;
  #total = 0;

  constructor(options: SearchOptions) {
    this.#options = options;
  }

  async find({ folder, names, deep }: Touched): Promise<void> {
    const start = this.#realOf(folder);
    if (start === null) return;
    if (this.#options.starts?.has(start) === false) return this.#gap(folder, "now leads elsewhere");
    this.found.starts.add(start);
    await this.#step(start, names, deep || this.#options.absent.has(start));
  }

  async #step(path: string, [isMeant, ...rest]: NameTest[], deep: boolean): Promise<void> {
    if (isMeant === undefined) return await this.#note(path, deep);
    for (const { name } of this.#list(path)) {
      if (!this.found.is_whole) return;
      if (++this.#tested % 200 === 0) await pause();
      if (!isMeant(name) || !this.#isNamed(join(path, name))) continue;
      await this.#step(join(path, name), rest, deep);
    }
  }

  /** The last name is not resolved, because a link itself is written or deleted. */
  #realOf(path: string): string | null {
    try {
      return path === "/" ? path : join(resolvePath(dirname(path)).real, basename(path));
    } catch {
      this.#gap(path, "cannot be read");
      return null;
    }
  }

  async #note(path: string, deep: boolean): Promise<void> {
    if (!await this.#goesOn()) return;
    const stats = statsOf(path);
    if (!stats) {
      for (const missing of [...missingFolders(dirname(path)), path]) {
        this.found.absent.add(missing);
      }
    } else if (stats.isFile()) this.#file(path, stats);
    else if (!stats.isDirectory()) this.#unkept(path, "is no regular file and is not kept");
    else {
      this.found.folders.set(path, stats.mode & 0o777);
      if (!deep) return;
      for (const { name } of this.#list(path)) {
        if (this.#isNamed(join(path, name))) await this.#note(join(path, name), true);
      }
    }
  }

  #file(path: string, { size, mode }: Stats): void {
    const { files } = this.found;
    if (files.has(path)) return;
    if (size > this.#options.maxBlobBytes) {
      return this.#unkept(path, `(${size} bytes) is larger than maxBlobBytes`);
    }
    if (this.#total + size > MAX_TOTAL) {
      return this.#unkept(path, `is more than the ${MAX_TOTAL} bytes that are kept for a command`);
    }
    this.#total += size;
    files.set(path, { bytes: size, mode: mode & 0o777 });
  }

  /** False if there are too many files. Yields to the event loop every 200 files. */
  async #goesOn(): Promise<boolean> {
    if (!this.found.is_whole) return false;
    if (++this.#looked > MAX_FILES) {
      this.found.is_whole = false;
      this.found.gaps.push(`it touches more than ${MAX_FILES} files`);
      return false;
    }
    if (this.#looked % 200 === 0) await pause();
    return true;
  }

  /** Whether a listed name can be written down; otherwise a gap tells of it. */
  #isNamed(path: string): boolean {
    if (!path.includes("\uFFFD") || statsOf(path)) return true;
    const gap = noText(shownPath(path, this.#options.root));
    this.found.unkept.add(path);
    if (this.found.unnamed.length >= MAX_TOLD) return false;
    this.found.unnamed.push(gap);
    this.found.gaps.unshift(gap);
    return false;
  }

  #list(path: string): Dirent[] {
    if (!statsOf(path)?.isDirectory()) return [];
    try {
      const found = readdirSync(path, { withFileTypes: true });
      this.#listed += found.length;
      // The order must not depend on the runtime: changes are shown and kept in it.
      if (this.#listed <= MAX_LISTED) return found.toSorted(byName);
      this.found.is_whole = false;
      this.found.gaps.push(`it would list more than ${MAX_LISTED} names`);
      return [];
    } catch {
      this.found.is_whole = false;
      this.#gap(path, "cannot be read");
      return [];
    }
  }

  #unkept(path: string, why: string): void {
    this.found.unkept.add(path);
    this.#gap(path, why);
  }

  #gap(path: string, why: string): void {
    this.found.gaps.push(`"${shownPath(path, this.#options.root)}" ${why}`);
  }
}

function byName(a: Dirent, b: Dirent): number {
  return a.name < b.name ? -1 : 1;
}

function statsOf(path: string): Stats | null {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) ?? null;
  } catch {
    return null; // a parent is a file, so nothing exists here
  }
}
