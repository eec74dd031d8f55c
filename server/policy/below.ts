import { DEEP, isNamed, isStatic, QUESTION, STAR } from "./holes.ts";
import { type Entry, type ListFolder, matchStars } from "./interpret/globs.ts";
import type { PathFacts } from "./request.ts";

/** Which of the files below a folder a program reads. */
export interface Below {
  /** The names that it leaves out. */
  skips: readonly Pattern[];
  /** The only names of files that it reads; empty for every name. */
  only: readonly Pattern[];
  /** The deepest level that it reads; the folder's own files have level 1. */
  depth: number;
  /** It reads names that start with a dot. */
  hidden: boolean;
  /** Files that list ignored names may take back names that start with a dot. */
  takes_back?: boolean;
  /** It leaves out the files that the repository ignores. */
  tracked: boolean;
  /** It follows links. */
  links: boolean;
  /** It may read fewer files than this says. */
  vague: boolean;
  /** The options that leave out a file or a folder, with `{name}` or `{path}` in them. */
  leave_out: { file: string; folder: string } | null;
}

/** A pattern of names, or of paths that start at the command's folder. */
export interface Pattern {
  glob: string;
  kind: Entry["kind"] | "any";
  is_path: boolean;
}

/** A file or folder that a walk found, and its path relative to the start. */
export interface Found {
  facts: PathFacts;
  relative: string;
  kind: "file" | "folder";
}

/** Bounds of one walk. */
const LIMITS = { entries: 5_000, found: 8, folders: 1_000 } as const;

/** The disk, the rules, and the folder that patterns of paths start from. */
interface Walk {
  below: Below;
  cwd: string;
  list: ListFolder;
  resolve: (path: string) => PathFacts;
  /** The names that the repository ignores. */
  ignored: readonly Pattern[];
  /** Whether a list of ignored names in this folder takes one back. */
  takesBack: (folder: string) => boolean;
  isForbidden: (facts: PathFacts, kind: Entry["kind"]) => boolean;
}

interface Folder {
  facts: PathFacts;
  relative: string;
  level: number;
  ignored: readonly Pattern[];
  hidden: boolean;
}

/** A folder has too many files to look at all; most of them are in `largest`, if it is known. */
export interface TooMany {
  largest: string | null;
}

/**
 * The forbidden files and folders that a program reads below a folder. A forbidden folder counts
 * once.
 */
export function searchBelow(start: PathFacts, walk: Walk): Found[] | TooMany {
  const { below, list, isForbidden } = walk;
  const hidden = below.hidden || (below.takes_back === true && takesBackAbove(start, walk));
  const queue: Folder[] = [{ facts: start, relative: "", level: 1, ignored: walk.ignored, hidden }];
  const seen = new Set<string>([start.real]);
  const found: Found[] = [];
  let looked = 0;
  for (const folder of queue) {
    const entries = list(folder.facts.real);
    if (entries === null || (looked += entries.length) > LIMITS.entries) {
      return { largest: largestOf(queue, entries === null ? folder : null) };
    }
    const own = entries.some(({ name }) => IGNORES.test(name)) && folder.level > 1;
    const shown = folder.hidden ||
      (below.takes_back === true && own && walk.takesBack(folder.facts.real));
    const from = { ...folder, ignored: own ? [] : folder.ignored, hidden: shown };
    for (const { name, kind } of entries) {
      const one = entryOf(from, name, kind, walk);
      if (one === null) continue;
      const isFolder = one.kind === "folder";
      const isRead = below.only.length === 0 ||
        (!isFolder && below.only.some(({ glob }) => matchFolded(glob, name)));
      if (isRead && isForbidden(one.facts, kind)) {
        if (found.push(one) >= LIMITS.found) return found;
      } else if (isFolder && folder.level < below.depth && !seen.has(one.facts.real)) {
        seen.add(one.facts.real);
        const next = { ...one, level: folder.level + 1, ignored: from.ignored, hidden: shown };
        if (queue.push(next) > LIMITS.folders) return { largest: largestOf(queue, null) };
      }
    }
  }
  return found;
}

/** Whether the start or a folder above it takes names back. */
function takesBackAbove({ real }: PathFacts, { takesBack }: Walk): boolean {
  for (let at = real; at !== ""; at = at.slice(0, at.lastIndexOf("/"))) {
    if (takesBack(at)) return true;
  }
  return takesBack("/");
}

/** The name in the start folder below which most of the folders are. */
function largestOf(queue: readonly Folder[], unreadable: Folder | null): string | null {
  const counts = new Map<string, number>();
  for (const { relative } of unreadable ? [unreadable] : queue) {
    const [name] = relative.split("/");
    if (name) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0] ?? null;
}

/** Files that may take back what the repository ignores. */
const IGNORES = /^\.(git|rg)?ignore$/;

/** An entry with its facts; null if the program leaves it out. */
function entryOf(folder: Folder, name: string, kind: Entry["kind"], walk: Walk): Found | null {
  const { below, cwd, list, resolve } = walk;
  if (!folder.hidden && name.startsWith(".")) return null;
  if (kind === "link" && !below.links) return null;
  const lexical = join(folder.facts.lexical, name);
  const facts = kind === "link"
    ? resolve(lexical)
    : { lexical, real: join(folder.facts.real, name) };
  const what = kind !== "link" ? kind : list(facts.real)?.length === 0 ? "file" : "folder";
  const path = lexical.startsWith(`${cwd}/`) ? lexical.slice(cwd.length + 1) : lexical;
  const fits = (one: Pattern) => matches(one, { name, what, path, lexical });
  if (below.skips.some(fits) || (below.tracked && folder.ignored.some(fits))) return null;
  const relative = folder.relative === "" ? name : `${folder.relative}/${name}`;
  return { facts, relative, kind: what };
}

function matches(
  { glob, kind, is_path }: Pattern,
  { name, what, path, lexical }: { name: string; what: string; path: string; lexical: string },
): boolean {
  if (kind !== "any" && kind !== what) return false;
  return is_path ? glob === path || glob === lexical : matchGlob(glob, name);
}

/** Letters count without their case, so that no file is missed. */
function matchFolded(glob: string, name: string): boolean {
  return matchGlob(glob.toLowerCase(), name.toLowerCase());
}

function matchGlob(glob: string, name: string): boolean {
  return matchStars(glob.replaceAll("*", STAR).replaceAll("?", QUESTION), name);
}

function join(folder: string, name: string): string {
  return folder === "/" ? `/${name}` : `${folder}/${name}`;
}

/** Every file below a folder. */
export const EVERYTHING: Below = {
  skips: [],
  only: [],
  depth: Infinity,
  hidden: true,
  tracked: false,
  links: false,
  vague: false,
  leave_out: null,
};

/** The folder of a path that means everything below it, and its names; null for another path. */
export function splitDeep(path: string): { folder: string; only: Pattern[] } | null {
  const [folder = "", rest, more] = path.split(`/${DEEP}`);
  if (rest === undefined || more !== undefined || !isNamed(folder)) return null;
  if (rest === "") return { folder: folder || "/", only: [] };
  const glob = rest.slice(1).replaceAll(STAR, "*").replaceAll(QUESTION, "?");
  if (!rest.startsWith("/") || glob === "" || glob.includes("/") || !isStatic(glob)) return null;
  return { folder: folder || "/", only: [{ glob, kind: "any", is_path: false }] };
}

/** The pattern of a glob without brackets; null for any other glob. */
export function nameOf(glob: string, kind: Pattern["kind"] = "any"): Pattern | null {
  const name = glob.replace(/^\*\*\//, "").replace(/\/$/, "");
  // The shell may replace a glob by the names of files.
  if (name === "" || !isStatic(name) || /[[\]{}\\/]/.test(name)) return null;
  return {
    glob: name,
    kind: name.length < glob.replace(/^\*\*\//, "").length ? "folder" : kind,
    is_path: false,
  };
}

/** The pattern of a glob that a program compares with base names only. */
export function baseNameOf(glob: string, kind: Pattern["kind"] = "any"): Pattern | null {
  return /\/|\*\*/.test(glob) ? null : nameOf(glob, kind);
}

/** The pattern of one path relative to the command's folder, as in `secrets/*`; null for a glob. */
export function pathOf(glob: string): Pattern | null {
  const path = glob.replace(/^\.?\//, "").replace(/\/(\*\*?)?$/, "");
  if (path === "" || !isStatic(path) || /[[\]{}\\*?]|(^|\/)\.\.?(\/|$)/.test(path)) return null;
  return { glob: path, kind: "any", is_path: true };
}
