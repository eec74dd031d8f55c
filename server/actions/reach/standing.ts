import { type Dirent, lstatSync, readdirSync, type Stats } from "node:fs";
import { basename, dirname, join } from "node:path";
import { setImmediate as pause } from "node:timers/promises";
import type { NameTest, Touched } from "../../policy/foresee.ts";
import { missingFolders } from "../../runtime/folder.ts";
import { resolvePath } from "../../runtime/real_path.ts";
import { shownPath } from "../target.ts";

/** More files than this are not kept for one command. */
export const MAX_FILES = 1_000;
/** Nor more bytes, all of them together. */
export const MAX_TOTAL = 128 * 1024 * 1024;

/** Nor are more names than this looked through to find them. */
const MAX_LISTED = 20_000;

/** What stands where a command is going to write or delete; paths are real. */
export interface Standing {
  files: Map<string, { bytes: number; mode: number }>;
  /** Folders, with their modes. */
  folders: Map<string, number>;
  /** Nothing is there, nor in the folders on the way that are among these too. */
  absent: Set<string>;
  /** What is there and cannot be kept: links, devices, what is too large. */
  unkept: Set<string>;
  /** Why something is not kept, in words. */
  gaps: string[];
  /** Whether everything was found. */
  is_whole: boolean;
}

/** Looks at the names alone, so that it costs little however large the files are. */
export async function findStanding(
  touched: readonly Touched[],
  options: SearchOptions,
): Promise<Standing> {
  const search = new Search(options);
  for (const one of touched) {
    if (search.standing.is_whole) await search.look(one);
  }
  return search.standing;
}

interface SearchOptions {
  root: string;
  maxBlobBytes: number;
  /** Real paths where nothing stood before: all that is below them by now counts. */
  absent: ReadonlySet<string>;
}

class Search {
  readonly standing: Standing = {
    files: new Map(),
    folders: new Map(),
    absent: new Set(),
    unkept: new Set(),
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

  async look({ folder, names, deep }: Touched): Promise<void> {
    const start = this.#realOf(folder);
    if (start === null) return;
    await this.#step(start, names, deep || this.#options.absent.has(start));
  }

  async #step(path: string, [isMeant, ...rest]: NameTest[], deep: boolean): Promise<void> {
    if (isMeant === undefined) return await this.#note(path, deep);
    for (const { name } of this.#list(path)) {
      if (!this.standing.is_whole) return;
      if (++this.#tested % 200 === 0) await pause();
      if (isMeant(name)) await this.#step(join(path, name), rest, deep);
    }
  }

  /** The last name is not followed: a link is what is written or deleted itself. */
  #realOf(path: string): string | null {
    try {
      return path === "/" ? path : join(resolvePath(dirname(path)).real, basename(path));
    } catch {
      this.#gap(path, "cannot be looked at");
      return null;
    }
  }

  async #note(path: string, deep: boolean): Promise<void> {
    if (!await this.#goesOn()) return;
    const found = statsOf(path);
    if (!found) {
      for (const missing of [...missingFolders(dirname(path)), path]) {
        this.standing.absent.add(missing);
      }
    } else if (found.isFile()) this.#file(path, found);
    else if (!found.isDirectory()) this.#unkept(path, "is no regular file, and is not kept");
    else {
      this.standing.folders.set(path, found.mode & 0o777);
      if (!deep) return;
      for (const entry of this.#list(path)) await this.#note(join(path, entry.name), true);
    }
  }

  #file(path: string, { size, mode }: Stats): void {
    const { files } = this.standing;
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

  /** False when there is too much; lets others have their turn now and then. */
  async #goesOn(): Promise<boolean> {
    if (!this.standing.is_whole) return false;
    if (++this.#looked > MAX_FILES) {
      this.standing.is_whole = false;
      this.standing.gaps.push(`it touches more than ${MAX_FILES} files`);
      return false;
    }
    if (this.#looked % 200 === 0) await pause();
    return true;
  }

  #list(path: string): Dirent[] {
    if (!statsOf(path)?.isDirectory()) return [];
    try {
      const found = readdirSync(path, { withFileTypes: true });
      this.#listed += found.length;
      // In the same order on every runtime: what a command changed is shown, and kept, so.
      if (this.#listed <= MAX_LISTED) return found.toSorted(byName);
      this.standing.is_whole = false;
      this.standing.gaps.push(`it looks through more than ${MAX_LISTED} names`);
      return [];
    } catch {
      this.standing.is_whole = false;
      this.#gap(path, "cannot be looked at");
      return [];
    }
  }

  #unkept(path: string, why: string): void {
    this.standing.unkept.add(path);
    this.#gap(path, why);
  }

  #gap(path: string, why: string): void {
    this.standing.gaps.push(`"${shownPath(path, this.#options.root)}" ${why}`);
  }
}

function byName(a: Dirent, b: Dirent): number {
  return a.name < b.name ? -1 : 1;
}

function statsOf(path: string): Stats | null {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) ?? null;
  } catch {
    return null; // a file where a folder should be: nothing is there
  }
}
