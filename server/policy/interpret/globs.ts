import { BRACKET, DEEP, isNamed, isStatic, QUESTION, STAR } from "../holes.ts";

/** One name in a folder, and what it is. */
export interface Entry {
  name: string;
  kind: "file" | "folder" | "link";
}

/** The entries of a folder, empty if there is none; null if they are too many or unreadable. */
export type ListFolder = (folder: string) => readonly Entry[] | null;

const LIMITS = { names: 4_000, files: 400 } as const;

/**
 * The existing files that the globs in an absolute path find. Null if that is not certain: too many
 * files. A bracket counts as any character, and letters count without their case, because an option
 * of the shell may ignore it. Some shells find `.` and `..` as well; at the end only readers take
 * them, because programs refuse to delete or replace them.
 */
export function filesOf(
  path: string,
  list: ListFolder,
  { reads = false } = {},
): string[] | null {
  if (!isNamed(path) || path.includes(DEEP) || path.includes(STAR + STAR)) return null;
  let found = [""];
  let looked = 0;
  const segments = path.split("/").slice(1);
  for (const [at, segment] of segments.entries()) {
    if (isStatic(segment)) {
      found = found.map((folder) => `${folder}/${segment}`);
      continue;
    }
    const matches = testOf(segment);
    const upward = (reads || at < segments.length - 1 ? UPWARD : []).filter(matches);
    const next: string[] = [];
    for (const folder of found) {
      const entries = list(folder === "" ? "/" : folder);
      if (entries === null || (looked += entries.length) > LIMITS.names) return null;
      const names = [...upward, ...entries.map(({ name }) => name).filter(matches)];
      next.push(...names.map((name) => `${folder}/${name}`));
      if (next.length > LIMITS.files) return null;
    }
    found = next;
  }
  return found;
}

const UPWARD = [".", ".."];

/** A test of names by simple backtracking: `*` and `?` do not match a dot at the start. */
function testOf(segment: string): (name: string) => boolean {
  const pattern = segment.toLowerCase();
  const starts = segment.startsWith(".");
  return (name) => (starts || !name.startsWith(".")) && matchStars(pattern, name.toLowerCase());
}

/**
 * Whether a name fits a pattern with the holes of a glob; a bracket counts as any character. Linear
 * in the pattern times the name: only the last star is ever tried again.
 */
export function matchStars(pattern: string, name: string): boolean {
  let [at, place, star, retry] = [0, 0, -1, 0];
  while (place < name.length) {
    if (pattern[at] === STAR) {
      star = at++;
      retry = place;
    } else if (pattern[at] === QUESTION || pattern[at] === BRACKET) {
      at++;
      place = afterChar(name, place);
    } else if (at < pattern.length && pattern[at] === name[place]) {
      at++;
      place++;
    } else if (star >= 0) {
      at = star + 1;
      retry = afterChar(name, retry);
      place = retry;
    } else return false;
  }
  while (pattern[at] === STAR) at++;
  return at === pattern.length;
}

/** The place after a character, which may have two code units. */
function afterChar(name: string, place: number): number {
  return place + (name.codePointAt(place)! > 0xffff ? 2 : 1);
}
