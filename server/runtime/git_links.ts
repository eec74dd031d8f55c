import { type BigIntStats, type Dirent, lstatSync, readdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { createGrowingCache } from "../growing_cache.ts";
import { openUp } from "./closed_folder.ts";
import { resolvePath } from "./real_path.ts";
import { readSmallBytes } from "./small_file.ts";

/** A place from which git takes, or to which it writes, what seems to be in its own folder. */
export interface FoundLink {
  /** A link in the folder, or the list of further folders with objects. */
  path: string;
  /** The real place that it leads to. */
  target: string;
}

/** The links in a folder of git. Those that git makes itself, to its references, are left out. */
export interface FoundLinks {
  /** Git reads and writes through these. */
  links: FoundLink[];
  /** Git only reads objects there (`git clone --reference`). `line` is the entry of the list. */
  objects: (FoundLink & { line: string })[];
}

/** Names that a person may link, and that no command of git shows or writes. */
const SKIPPED = new Set([
  ...["hooks", "info", "config", "config.worktree", "description", "commondir", "gitdir"],
  // The folders of submodules are folders of git themselves; the others hold no commits.
  ...["modules", "lfs", "annex"],
]);

const LIMITS = { folders: 2_000, entries: 200_000, list_bytes: 64 * 1024 } as const;

/**
 * The links in these folders of one repository, and what its lists of objects name elsewhere. Null if
 * gate cannot tell, as for too many folders.
 */
export function gitLinksOf(folders: readonly string[]): FoundLinks | null {
  const found: FoundLinks = { links: [], objects: [] };
  const queue = folders.map((folder) => ({ folder, is_top: true }));
  const seen = new Set(folders);
  const own = folders.map((folder) => realOf(folder) ?? folder);
  const references = own.flatMap((folder) => [join(folder, "refs"), join(folder, "objects")]);
  let entries = 0;
  for (const { folder, is_top } of queue) {
    const content = look(folder) ?? (isWithin(folder, own) && openUp(folder) ? look(folder) : null);
    if (content === null) continue;
    entries += content.entries;
    if (queue.length > LIMITS.folders || entries > LIMITS.entries) return null;
    for (const name of content.links) {
      if (is_top && SKIPPED.has(name)) continue;
      const path = join(folder, name);
      const target = realOf(path);
      if (target === null || !isWithin(target, references)) {
        found.links.push({ path, target: target ?? path });
      }
    }
    for (const name of content.folders) {
      if (!(is_top && SKIPPED.has(name))) enter(join(folder, name), false);
    }
    const isOfObjects = content.folders.includes("info");
    const listed = isOfObjects ? listedIn(join(folder, "info/alternates"), folder) : [];
    if (listed === null) return null;
    for (const link of listed) {
      if (!isWithin(link.target, own)) found.objects.push(link);
      enter(link.target, false);
    }
  }
  return found;

  function enter(folder: string, is_top: boolean): void {
    if (seen.has(folder)) return;
    seen.add(folder);
    queue.push({ folder, is_top });
  }
}

/** The folders in a list of further folders with objects; null for a list that gate cannot read. */
function listedIn(list: string, objects: string): FoundLinks["objects"] | null {
  if (lstatSync(list, { throwIfNoEntry: false }) === undefined) return [];
  try {
    const lines = new TextDecoder().decode(readSmallBytes(list, LIMITS.list_bytes)).split("\n");
    const named = lines.filter((line) => line !== "" && !line.startsWith("#"));
    // Git takes a quoted line apart.
    if (named.some((line) => line.startsWith('"'))) return null;
    return named.map((line) => {
      const target = resolve(objects, line);
      return { path: list, target: realOf(target) ?? target, line };
    });
  } catch {
    return null;
  }
}

interface Content {
  folders: readonly string[];
  links: readonly string[];
  entries: number;
}

/** A folder as it was read, and when, in milliseconds since 1970. */
interface Seen extends Content {
  state: string;
  at: number;
}

const KNOWN = createGrowingCache<Seen>(20_000);
/** A change within this time of reading may leave the same time of change. */
const COARSE_MS = 1_100;

/** The content of a folder, read again only after a change; null if it is gone. */
function look(folder: string): Content | null {
  try {
    const at = Date.now();
    const stats = statSync(folder, { bigint: true });
    const state = stateOf(stats);
    const old = KNOWN.get(folder);
    if (old?.state === state && old.at - Number(stats.ctimeMs) > COARSE_MS) return old;
    const seen = { state, at, ...contentOf(readdirSync(folder, { withFileTypes: true })) };
    KNOWN.set(folder, seen);
    return seen;
  } catch {
    return null;
  }
}

function stateOf({ dev, ino, ctimeNs }: BigIntStats): string {
  return `${dev} ${ino} ${ctimeNs}`;
}

function contentOf(entries: readonly Dirent[]): Content {
  const namesOf = (kind: "isDirectory" | "isSymbolicLink") =>
    entries.filter((entry) => entry[kind]()).map(({ name }) => name);
  return {
    folders: namesOf("isDirectory"),
    links: namesOf("isSymbolicLink"),
    entries: entries.length,
  };
}

/** The real path; null for a loop of links. */
function realOf(path: string): string | null {
  try {
    return resolvePath(path).real;
  } catch {
    return null;
  }
}

function isWithin(path: string, folders: readonly string[]): boolean {
  return folders.some((folder) => path === folder || path.startsWith(`${folder}/`));
}
