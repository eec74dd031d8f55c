import { createHash } from "node:crypto";
import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  readlinkSync,
  realpathSync,
} from "node:fs";
import { basename, dirname, sep } from "node:path";
import { createGrowingCache } from "../../growing_cache.ts";
import { knownNamesIn } from "./folder_names.ts";

/** One file that is guarded, or one folder with everything in it. */
export interface Place {
  path: string;
  deep: boolean;
  /** Names below it that are no part of it, outside of folders with code for a host. */
  skip?: RegExp;
  /** So many names below it are guarded; with more, only the outer ones. */
  most?: number;
}

/** Folders from which a host loads code: there any name may be one that it loads. */
const LOADED = /^(agents?|commands?|skills?|plugins?|extensions?|tools?|rules|prompts|modes?)$/;
/** The names that running or fetching such code leaves behind, below the folder of each one. */
const LEFT_BEHIND = /^(__pycache__|node_modules|\.git|\.DS_Store|\.gate-[0-9a-f-]+)$/;

/** A guarded file, link or folder as gate last accepted it. */
export interface Kept {
  kind: "file" | "link" | "folder" | "other";
  /** Changes with every change of the file, also with one that is put back. */
  signature: string;
  mode: number;
  sha256: string | null;
  /** The bytes of a small file; null for a file that is too large to restore. */
  content: Uint8Array | null;
  /** The target of a link. */
  target: string | null;
  /** The real path of the folder that holds it; null if an older gate kept this state. */
  above: string | null;
}

/** The guarded files by path. */
export type Snapshot = Map<string, Kept>;

/** One difference between a snapshot and the disk. */
export interface Difference {
  path: string;
  change: "created" | "modified" | "deleted" | "rewritten";
  before: Kept | null;
  now: Kept | null;
}

const MAX_KEPT = 512 * 1024;
/** All kept bytes of one snapshot. */
const MAX_TOTAL = 16 * 1024 * 1024;
/** In a folder with more names below it only the outer ones are guarded. */
const MAX_NAMES = 1_000;
const MAX_DEPTH = 4;
/** How deep gate looks into folders with too many names. */
const SHALLOW = createGrowingCache<number>(1_000);
const { O_RDONLY } = constants;
const O_NOFOLLOW = constants.O_NOFOLLOW ?? 0;
const O_NONBLOCK = constants.O_NONBLOCK ?? 0;

/** The answer of `lstat` about a path. */
interface Look {
  kind: Kept["kind"];
  signature: string;
  mode: number;
}

/** The present state of the places. Reads only files that differ from `known`. */
export function takeSnapshot(places: readonly Place[], known: Snapshot = new Map()): Snapshot {
  const taken: Snapshot = new Map();
  const aboveOf = realFolders();
  let left = MAX_TOTAL;
  for (const [path, look] of lookAt(places)) {
    const before = known.get(path);
    const above = aboveOf(path);
    const kept = before?.signature === look.signature
      ? before.above === above ? before : { ...before, above }
      : read(path, look, above);
    left -= kept.content?.length ?? 0;
    taken.set(path, left < 0 ? { ...kept, content: null } : kept);
  }
  return taken;
}

/**
 * The differences of the disk to a snapshot, outer folders first. A file is deleted, and what is there
 * is not read, if a link above it leads elsewhere since.
 */
export function compare(places: readonly Place[], snapshot: Snapshot): Difference[] {
  const found: Difference[] = [];
  const seen = lookAt(places);
  const aboveOf = realFolders();
  for (const [path, look] of seen) {
    const before = snapshot.get(path) ?? null;
    if (before?.signature === look.signature) continue;
    const above = aboveOf(path);
    if (before !== null && before.above !== null && before.above !== above) {
      found.push({ path, change: "deleted", before, now: null });
      continue;
    }
    const now = read(path, look, above);
    const change = before === null ? "created" : isSame(before, now) ? "rewritten" : "modified";
    found.push({ path, change, before, now });
  }
  for (const [path, before] of snapshot) {
    if (!seen.has(path)) found.push({ path, change: "deleted", before, now: null });
  }
  return found.sort((a, b) => a.path < b.path ? -1 : 1);
}

function isSame(a: Kept, b: Kept): boolean {
  return a.kind === b.kind && a.mode === b.mode && a.target === b.target && a.sha256 === b.sha256 &&
    (a.kind !== "file" || a.sha256 !== null);
}

/** Every path of the places, found by names and metadata only. */
function lookAt(places: readonly Place[]): Map<string, Look> {
  const found = new Map<string, Look>();
  const now = Date.now();
  for (const place of places) {
    for (const [path, seen] of lookBelow(place, now)) found.set(path, seen);
  }
  return found;
}

/** One walk below a place. */
interface Walk {
  found: [path: string, seen: Look][];
  deep: boolean;
  most: number;
  /** The time before the walk. */
  now: number;
}

/** As deep as the names below the place are few enough. It never becomes deeper again. */
function lookBelow(place: Place, now: number): Walk["found"] {
  for (let most = SHALLOW.get(place.path) ?? MAX_DEPTH;; most--) {
    const walk: Walk = { found: [], deep: place.deep, most, now };
    look(place.path, place.skip, 0, walk);
    if (walk.found.length <= (place.most ?? MAX_NAMES) || most === 0) return walk.found;
    SHALLOW.set(place.path, most - 1);
  }
}

function look(path: string, skipped: RegExp | undefined, depth: number, walk: Walk): void {
  const { found, deep, most, now } = walk;
  if (found.length > MAX_NAMES) return;
  let stats: BigIntStats | undefined;
  try {
    stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  } catch {
    return; // a parent is no folder
  }
  if (!stats) return;
  const kind = kindOf(stats);
  const seen = { kind, signature: signatureOf(stats, kind), mode: Number(stats.mode & 0o777n) };
  found.push([path, seen]);
  if (kind !== "folder" || !deep || depth >= most) return;
  const isLoaded = LOADED.test(basename(path));
  const skip = isLoaded && depth > 0 ? undefined : skipped;
  // Directly in such a folder any name may be loaded; below, a name only tells what it is.
  const below = isLoaded ? LEFT_BEHIND : skip;
  for (const name of knownNamesIn(path, stats, now)) {
    if (!skip?.test(name)) {
      look(path.endsWith(sep) ? path + name : path + sep + name, below, depth + 1, walk);
    }
  }
}

function kindOf(stats: BigIntStats): Kept["kind"] {
  if (stats.isFile()) return "file";
  if (stats.isSymbolicLink()) return "link";
  return stats.isDirectory() ? "folder" : "other";
}

/** The change time cannot be set by a program. A folder changes with its names, which are listed. */
function signatureOf(stats: BigIntStats, kind: Kept["kind"]): string {
  const { dev, ino, mode, size, mtimeNs, ctimeNs } = stats;
  return kind === "folder"
    ? `folder ${mode}`
    : `${dev} ${ino} ${mode} ${size} ${mtimeNs} ${ctimeNs}`;
}

/** Finds the real path of the folder above a path, each folder once. */
function realFolders(): (path: string) => string | null {
  const known = new Map<string, string | null>();
  return (path) => {
    const folder = dirname(path);
    const found = known.get(folder);
    if (found !== undefined) return found;
    const real = realOf(folder);
    known.set(folder, real);
    return real;
  };
}

function realOf(folder: string): string | null {
  try {
    return realpathSync.native(folder);
  } catch {
    return null; // it was removed meanwhile
  }
}

function read(path: string, { kind, signature, mode }: Look, above: string | null): Kept {
  const nothing = { sha256: null, content: null, target: null, above };
  if (kind === "link") return { kind, signature, mode, ...nothing, target: targetOf(path) };
  if (kind !== "file") return { kind, signature, mode, ...nothing };
  const content = contentOf(path);
  if (content === null) return { kind, signature, mode, ...nothing };
  const sha256 = createHash("sha256").update(content).digest("hex");
  return { ...nothing, kind, signature, mode, sha256, content };
}

function targetOf(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}

function contentOf(path: string): Uint8Array | null {
  try {
    const fd = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      const stats = fstatSync(fd);
      return stats.isFile() && stats.size <= MAX_KEPT ? readFileSync(fd) : null;
    } finally {
      closeSync(fd);
    }
  } catch {
    return null;
  }
}
