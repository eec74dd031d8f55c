import { type BigIntStats, constants, type Dirent, lstatSync, readdirSync } from "node:fs";
import {
  chmod,
  copyFile,
  lstat,
  lutimes,
  mkdir,
  readlink,
  symlink,
  utimes,
} from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { removeTree } from "../../runtime/remove_tree.ts";
import { isWithin } from "../bubblewrap.ts";
import { isUnnamed } from "../unnamed.ts";
import { refused } from "../walls.ts";

/** A file, folder or link as it was copied. */
export interface Copied {
  kind: "file" | "folder" | "link";
  /** The state of the original, which tells whether it changed since. */
  original: string;
  /** The state of the copy, when it was made. */
  copy: string;
  mode: number;
  /** When the copy last changed before the command started, in nanoseconds since 1970. */
  changed_ns: bigint;
  /** Where a link leads. */
  target?: string;
}

/** One folder of the project and its copy. */
export interface CopiedRoot {
  root: string;
  /** The folder of the copy. */
  at: string;
  /** By the path below the root. */
  entries: Map<string, Copied>;
  /** Folders of git, which the command reads and cannot change. */
  git: string[];
}

/** A copy of the project's folders, in which a command works while its changes are held back. */
export interface ProjectCopy {
  /** The folder that holds all copies. */
  folder: string;
  roots: CopiedRoot[];
  /** The paths that are not copied, because the sandbox hides them or keeps them as they are. */
  kept: ReadonlySet<string>;
}

/** How much of a project is copied at most. */
export interface CopyLimits {
  entries: number;
  bytes: number;
}

/** A larger project takes too long to copy for each command. */
export const COPY_LIMITS: CopyLimits = { entries: 20_000, bytes: 512 * 1024 * 1024 };

const AT_ONCE = 16;
const SLICE_MS = 8;

interface CopyInput {
  roots: readonly string[];
  kept: ReadonlySet<string>;
  limits?: CopyLimits;
}

/**
 * Copies the project's folders into a new folder. A file with several names becomes several files, and
 * a link stays a link. Removes what it has copied if it fails. @throws UnbuildableError if the project
 * is too large, changes meanwhile, or cannot be read
 */
export async function copyProject(input: CopyInput & { folder: string }): Promise<ProjectCopy> {
  const { folder, kept, limits = COPY_LIMITS } = input;
  const meter = new Meter(limits);
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const roots: CopiedRoot[] = [];
    for (const [number, root] of outermost(input.roots).entries()) {
      roots.push(await copyRoot(root, join(folder, `${number}`), kept, meter));
    }
    return { folder, roots, kept };
  } catch (error) {
    await removeCopy({ folder });
    if (error instanceof TooLarge) throw refused(error.why, OUTSIDE);
    const { code } = error as { code?: string };
    if (code === "conflict") throw error;
    throw refused(`the project cannot be copied (${code ?? String(error)})`, OUTSIDE);
  }
}

/** Why the project is too large to be copied; null if it is not. Copies nothing. */
export async function whyNotCopied({ roots, kept, limits = COPY_LIMITS }: CopyInput) {
  const meter = new Meter(limits);
  try {
    for (const root of outermost(roots)) {
      for await (const { entry, path } of entriesOf(root, kept)) {
        meter.count(entry.isFile() ? lstatSync(path).size : 0);
      }
    }
    return null;
  } catch (error) {
    return error instanceof TooLarge ? error.why : `the project cannot be copied (${error})`;
  }
}

/** Removes a copy, also what its command made unreadable. Never throws. */
export async function removeCopy({ folder }: Pick<ProjectCopy, "folder">): Promise<void> {
  await removeTree(folder).catch(() => {});
}

const OUTSIDE = "let a person approve the command outside the sandbox";

class TooLarge extends Error {
  readonly why: string;

  constructor(why: string) {
    super(why);
    this.why = why;
  }
}

class Meter {
  readonly #limits: CopyLimits;
  #entries = 0;
  #bytes = 0;

  constructor(limits: CopyLimits) {
    this.#limits = limits;
  }

  /** @throws TooLarge */
  count(bytes: number): void {
    const { entries, bytes: most } = this.#limits;
    this.#entries++;
    this.#bytes += bytes;
    const why = this.#entries > entries
      ? `it has more than ${entries} files and folders`
      : this.#bytes > most
      ? `its files are larger than ${Math.floor(most / 1024 / 1024)} MiB together`
      : null;
    if (why !== null) throw new TooLarge(`the project is too large to be copied: ${why}`);
  }
}

async function copyRoot(
  root: string,
  at: string,
  kept: ReadonlySet<string>,
  meter: Meter,
): Promise<CopiedRoot> {
  const copied: CopiedRoot = { root, at, entries: new Map(), git: [] };
  await mkdir(at, { mode: 0o700 });
  let files: Promise<void>[] = [];
  for await (const { entry, path, below } of entriesOf(root, kept)) {
    if (isUnnamed(path)) {
      throw refused(`the name of ${JSON.stringify(below)} has bytes that are no text`, OUTSIDE);
    }
    const to = join(at, below);
    const stats = await lstat(path, { bigint: true });
    meter.count(entry.isFile() ? Number(stats.size) : 0);
    if (isGit(entry)) {
      await mkdir(to);
      copied.git.push(path);
    } else if (entry.isDirectory()) {
      await copyFolder(copied, below, stats);
    } else if (entry.isSymbolicLink()) {
      await copyLink(copied, below, stats);
    } else if (entry.isFile()) {
      files.push(copyOne(copied, below, stats));
      if (files.length < AT_ONCE) continue;
      await Promise.all(files);
      files = [];
    }
  }
  await Promise.all(files);
  return copied;
}

async function copyFolder({ at, entries }: CopiedRoot, below: string, stats: BigIntStats) {
  const mode = Number(stats.mode) & 0o777;
  // Else nothing could be copied into it.
  await mkdir(join(at, below));
  await chmod(join(at, below), mode | 0o700);
  const state = stateOf(stats);
  entries.set(below, {
    kind: "folder",
    original: state,
    copy: "",
    mode: mode | 0o700,
    changed_ns: 0n,
  });
}

async function copyLink({ root, at, entries }: CopiedRoot, below: string, stats: BigIntStats) {
  const target = await readlink(join(root, below));
  await symlink(target, join(at, below));
  await lutimes(join(at, below), secondsOf(stats.atimeNs), secondsOf(stats.mtimeNs));
  const original = stateOf(stats);
  entries.set(below, { kind: "link", original, copy: "", mode: 0, changed_ns: 0n, target });
}

/** Build tools compare the times of files, so the copy has those of the original. */
async function copyOne({ root, at, entries }: CopiedRoot, below: string, stats: BigIntStats) {
  const [from, to] = [join(root, below), join(at, below)];
  const mode = Number(stats.mode) & 0o777;
  await copyFile(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  await chmod(to, mode);
  await utimes(to, secondsOf(stats.atimeNs), secondsOf(stats.mtimeNs));
  const now = stateOf(await lstat(from, { bigint: true }));
  const original = stateOf(stats);
  if (now !== original) {
    throw refused(
      `"${below}" changes while the project is copied`,
      "submit it again when no other program works in the project",
    );
  }
  const made = await lstat(to, { bigint: true });
  const changed_ns = made.ctimeNs;
  entries.set(below, { kind: "file", original, copy: stateOf(made), mode, changed_ns });
}

/** Tells one state of a file from another: nobody can set the time of its last change. */
export function stateOf({ dev, ino, size, mode, mtimeNs, ctimeNs }: BigIntStats): string {
  return `${dev} ${ino} ${size} ${mode} ${mtimeNs} ${ctimeNs}`;
}

/** Whether it is a folder of git. Its content is no text that a person can review. */
export function isGit(entry: Dirent): boolean {
  return entry.name === ".git" && entry.isDirectory();
}

interface Entry {
  entry: Dirent;
  path: string;
  /** Its path below the root. */
  below: string;
}

/** Everything below a root, each folder before what is in it. */
export async function* entriesOf(
  root: string,
  skipped: ReadonlySet<string> = new Set(),
  enters: (one: Entry) => boolean = ({ entry }) => !isGit(entry),
  list: (folder: string) => Dirent[] = (folder) =>
    readdirSync(join(root, folder), { withFileTypes: true }),
): AsyncGenerator<Entry> {
  const queue = [""];
  let since = performance.now();
  for (const folder of queue) {
    for (const entry of list(folder)) {
      const below = join(folder, entry.name);
      const one = { entry, path: join(root, below), below };
      if (skipped.has(one.path)) continue;
      yield one;
      if (entry.isDirectory() && enters(one)) queue.push(below);
    }
    if (performance.now() - since < SLICE_MS) continue;
    await setImmediate();
    since = performance.now();
  }
}

function secondsOf(ns: bigint): number {
  return Number(ns) / 1e9;
}

function outermost(roots: readonly string[]): string[] {
  const all = [...new Set(roots)];
  return all.filter((one) => !all.some((other) => other !== one && isWithin(one, other)));
}
