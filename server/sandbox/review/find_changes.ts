import {
  type BigIntStats,
  chmodSync,
  type Dirent,
  lstatSync,
  readdirSync,
  readlinkSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { isUnnamed } from "../unnamed.ts";
import {
  type Copied,
  type CopiedRoot,
  COPY_LIMITS,
  entriesOf,
  isGit,
  type ProjectCopy,
  stateOf,
} from "./copy_project.ts";

/** A file that a command may have changed in its copy of the project. */
export interface FoundChange {
  /** Its path in the project. */
  path: string;
  /** Its path in the copy; null if the command deleted it. */
  from: string | null;
  /** Its new permission bits; null if they are the old ones. */
  mode: number | null;
  /** Whether the file was there before. */
  is_new: boolean;
}

/** A change that gate does not take over. */
export interface LeftOut {
  path: string;
  why: string;
}

/** Everything that a command did to its copy of the project. */
export interface FoundChanges {
  changes: FoundChange[];
  left_out: LeftOut[];
  /** Folders that it removed, outermost first. */
  removed_folders: string[];
}

/** A command that leaves more behind is not looked through. */
const MOST_ENTRIES = 4 * COPY_LIMITS.entries;
/** The kernel's clock is coarse: a change within this time may leave the same time. */
const COARSE_NS = 20_000_000n;
/** Some runtimes tell only whole seconds. */
const SECOND_NS = 1_000_000_000n;

/**
 * Compares the copy with its state before the command. A file of which nobody can tell that it is
 * unchanged counts as a change. Returns a sentence if the command left too much behind.
 */
export async function findChanges(
  copy: ProjectCopy,
  started_ns: bigint,
): Promise<FoundChanges | string> {
  const found: FoundChanges = { changes: [], left_out: [], removed_folders: [] };
  let entries = 0;
  for (const root of copy.roots) {
    const comparison = new Comparison(root, copy.kept, found, started_ns);
    const enters = ({ below }: { below: string }) => comparison.enters(below);
    const list = (folder: string) => comparison.list(folder);
    for await (const one of entriesOf(root.at, new Set(), enters, list)) {
      if (++entries > MOST_ENTRIES) return `it left more than ${MOST_ENTRIES} files and folders`;
      comparison.see(one.below, one.path, isGit(one.entry));
    }
    comparison.findDeleted();
  }
  // Runtimes list a folder in different orders.
  found.changes.sort((one, other) => one.path < other.path ? -1 : 1);
  return found;
}

class Comparison {
  readonly #root: CopiedRoot;
  readonly #kept: ReadonlySet<string>;
  readonly #found: FoundChanges;
  readonly #started_ns: bigint;
  readonly #seen = new Set<string>();
  /** Folders that are not looked into, because they are left out or the sandbox keeps them. */
  readonly #closed = new Set<string>();

  constructor(
    root: CopiedRoot,
    kept: ReadonlySet<string>,
    found: FoundChanges,
    started_ns: bigint,
  ) {
    this.#root = root;
    this.#kept = kept;
    this.#found = found;
    this.#started_ns = started_ns;
  }

  enters(below: string): boolean {
    return !this.#closed.has(below);
  }

  /** The entries of a folder of the copy; none of one that cannot be read, which is left out. */
  list(below: string): Dirent[] {
    const path = join(this.#root.at, below);
    try {
      return readdirSync(path, { withFileTypes: true });
    } catch (error) {
      this.#leaveOut(below, `the folder cannot be read (${(error as { code?: string }).code})`);
      this.#close(below);
      return [];
    }
  }

  see(below: string, path: string, is_git: boolean): void {
    const at = join(this.#root.root, below);
    // Two names that are no text may read as one.
    if (this.#seen.has(below) || isUnnamed(path)) {
      this.#leaveOut(below, "its name has bytes that are no text");
      return this.#close(below);
    }
    this.#seen.add(below);
    // The sandbox has put something else over it.
    if (this.#kept.has(at) || this.#root.git.includes(at)) return this.#close(below);
    const why = is_git ? "it is a folder of git" : this.#whyUnread(below, path);
    if (why === null) return;
    this.#leaveOut(below, why);
    this.#close(below);
  }

  #whyUnread(below: string, path: string): string | null {
    try {
      return this.#whyNot(below, path);
    } catch (error) {
      return `it cannot be read (${(error as { code?: string }).code ?? String(error)})`;
    }
  }

  /** Notes a change of a file. Returns why gate does not take it over; null if it does. */
  #whyNot(below: string, path: string): string | null {
    const before = this.#root.entries.get(below);
    const stats = lstatSync(path, { bigint: true });
    const kind = kindOf(stats);
    if (kind === null) return "it is no file, folder or link";
    if (before && before.kind !== kind) return `a ${before.kind} became a ${kind}`;
    switch (kind) {
      case "link":
        if (before?.target !== undefined && readlinkSync(path) === before.target) return null;
        return "gate takes over no links";
      case "folder":
        // Nobody but gate uses the copy any more, and gate must look into it.
        if ((modeOf(stats) & 0o700) !== 0o700) chmodSync(path, 0o700);
        return before && before.mode !== modeOf(stats) ? this.#noteFolderMode(below) : null;
      case "file":
        return this.#whyNotFile(below, path, { before, stats });
    }
  }

  #noteFolderMode(below: string): null {
    this.#leaveOut(below, "gate takes over no permission bits of folders");
    return null;
  }

  #whyNotFile(
    below: string,
    path: string,
    { before, stats }: { before: Copied | undefined; stats: BigIntStats },
  ): string | null {
    if (before && stateOf(stats) === before.copy && this.#isOld(before)) return null;
    if ((Number(stats.mode) & 0o7000) !== 0) return "it would run with the rights of its owner";
    const mode = modeOf(stats);
    const is_changed_mode = before ? before.mode !== mode : (mode & 0o111) !== 0;
    const changed = {
      path: join(this.#root.root, below),
      from: path,
      mode: is_changed_mode ? mode : null,
      is_new: before === undefined,
    };
    const why = this.#whyMoved(below);
    if (why === null) this.#found.changes.push(changed);
    return why;
  }

  /** Whether a later change of the copy would show in its time. */
  #isOld({ changed_ns }: Copied): boolean {
    const coarse = changed_ns % SECOND_NS === 0n ? SECOND_NS + COARSE_NS : COARSE_NS;
    return changed_ns + coarse < this.#started_ns;
  }

  /** Why the file in the project is not the one that was copied; null if it is. */
  #whyMoved(below: string): string | null {
    const now = lstatSync(join(this.#root.root, below), { bigint: true, throwIfNoEntry: false });
    const then = this.#root.entries.get(below)?.original;
    return (now && stateOf(now)) === then ? null : MOVED;
  }

  findDeleted(): void {
    for (const [below, { kind }] of this.#root.entries) {
      if (this.#seen.has(below) || this.#isBelowClosed(below)) continue;
      const path = join(this.#root.root, below);
      if (kind === "folder") {
        this.#found.removed_folders.push(path);
      } else if (kind === "link") {
        this.#leaveOut(below, "gate removes no links");
      } else {
        const why = this.#whyMoved(below);
        if (why !== null) this.#leaveOut(below, why);
        else this.#found.changes.push({ path, from: null, mode: null, is_new: false });
      }
    }
  }

  #close(below: string): void {
    this.#closed.add(below);
  }

  #isBelowClosed(below: string): boolean {
    for (let folder = dirname(below); folder !== "."; folder = dirname(folder)) {
      if (this.#closed.has(folder)) return true;
    }
    return false;
  }

  #leaveOut(below: string, why: string): void {
    this.#found.left_out.push({ path: join(this.#root.root, below), why });
  }
}

const MOVED = "it changed in the project while the command ran";

function kindOf(stats: BigIntStats): Copied["kind"] | null {
  if (stats.isFile()) return "file";
  if (stats.isDirectory()) return "folder";
  return stats.isSymbolicLink() ? "link" : null;
}

function modeOf({ mode }: BigIntStats): number {
  return Number(mode) & 0o777;
}
