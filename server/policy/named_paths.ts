import { isStatic, show } from "./holes.ts";
import { absolutePath } from "./interpret/state.ts";
import type { CommandAnalysis } from "./interpret/unit.ts";

/** More words of one command are not resolved; the text of all words is still searched. */
const MAX_PATHS = 400;

/** The files that a command may touch, as far as its text shows them. */
export interface NamedPaths {
  /** Absolute paths, possibly with holes and `..`: effects, and words that may be paths. */
  paths: string[];
  /** The files of its effects that the text shows. */
  accesses: { access: "read" | "write" | "delete"; path: string }[];
  /** What it reads or writes below folders or by patterns, for a person: `src/*`. */
  open: string[];
  /** Absolute paths that it deletes or moves; a folder with a project in it may be among them. */
  deletes: string[];
  /** All words of all programs. */
  words: string[];
}

/**
 * The paths that a command names or may touch. A word counts in each folder in which its program may
 * run, so the list errs towards too many paths.
 */
export function namedPaths({ units, effects }: CommandAnalysis, cwd: string): NamedPaths {
  const words = new Set<string>();
  const paths = new Set<string>();
  const accesses: NamedPaths["accesses"] = [];
  const deletes: string[] = [];
  const open = new Set<string>();
  for (const { op, path, walked, implied, on_disk } of effects) {
    const full = walked ?? absolutePath(path, cwd);
    if (!on_disk) paths.add(full);
    if (isStatic(path)) {
      if (!implied || op === "write") accesses.push({ access: op, path: full });
    } else if (!implied && op !== "delete") open.add(show(path));
    if (op === "delete") deletes.push(full);
  }
  for (const { argv, folders } of units) {
    for (const folder of folders) if (folder !== cwd) paths.add(folder);
    for (const word of argv) {
      words.add(word);
      if (paths.size >= MAX_PATHS) continue;
      const part = partOf(word);
      // Not folded: the kernel goes to the parent of the folder that a link leads to.
      if (part?.startsWith("/")) paths.add(part);
      else if (part !== null) { for (const folder of folders) paths.add(`${folder}/${part}`); }
    }
  }
  return { paths: [...paths], accesses, open: [...open], deletes, words: [...words] };
}

/** The word or the value of an option or an assignment; null if it is no path. */
function partOf(word: string): string | null {
  if (word === "" || word.length > 4_096 || word.includes("\n")) return null;
  const value = word.includes("=") ? /^-{0,2}[\w-]+=(.+)$/s.exec(word)?.[1] : undefined;
  if (value !== undefined) return value;
  return word.startsWith("-") ? null : word;
}
