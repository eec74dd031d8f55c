import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";

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
      return statSync(path).size > MOST_BYTES || /^\s*!/m.test(readFileSync(path, "utf8"));
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
    if (statSync(path).size > MOST_BYTES) return [];
    return readFileSync(path, "utf8").split("\n").map((line) => line.trim());
  } catch {
    return [];
  }
}
