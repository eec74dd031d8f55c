import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { readSmallBytes } from "./small_file.ts";

const MOST_BYTES = 65_536;

/**
 * The names that git ignores everywhere below a folder, and absolute paths that it ignores. Entries
 * with wildcards are left out. Empty if another file may take an entry back.
 */
export function ignoredNames(folder: string): string[] {
  const root = repositoryOf(folder);
  if (root === null) return [];
  for (let at = folder;; at = dirname(at)) {
    if (existsSync(join(at, ".ignore")) || existsSync(join(at, ".rgignore"))) return [];
    if (at.startsWith(`${root}/`) && existsSync(join(at, ".gitignore"))) return [];
    if (at === dirname(at)) break;
  }
  const lines = readLines(join(root, ".gitignore"));
  if (lines.some((line) => line.startsWith("!"))) return [];
  return lines.filter((line) => /^\/?[\w.@+-]+\/?$/.test(line))
    .map((line) => line.startsWith("/") ? `${root}${line}` : line);
}

/**
 * Whether a list of ignored names in this folder takes a name back, so that programs which obey it
 * also read names that start with a dot. True for a list that cannot be read.
 */
export function takesNamesBack(folder: string): boolean {
  const lists = [".ignore", ".rgignore", ".gitignore", ".git/info/exclude"];
  return lists.some((name) => {
    const path = join(folder, name);
    if (!existsSync(path)) return false;
    try {
      return /^\s*!/m.test(textOf(path));
    } catch {
      return true;
    }
  });
}

function repositoryOf(folder: string): string | null {
  for (let at = folder;; at = dirname(at)) {
    if (existsSync(join(at, ".git"))) return at;
    if (at === dirname(at)) return null;
  }
}

function readLines(path: string): string[] {
  try {
    return textOf(path).split("\n").map((line) => line.trim());
  } catch {
    return [];
  }
}

/** @throws Error for a list that is too long or no file, such as a pipe that would block the read */
function textOf(path: string): string {
  return new TextDecoder().decode(readSmallBytes(path, MOST_BYTES));
}
