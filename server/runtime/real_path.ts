import { lstatSync, readlinkSync, realpathSync } from "node:fs";
import { isAbsolute, join, parse, resolve, sep } from "node:path";
import process from "node:process";
import { GateError } from "../errors.ts";

/** A path as it was asked for (absolute, `..` folded) and as it is (links resolved as far as it exists). */
export interface ResolvedPath {
  lexical: string;
  real: string;
}

/** As many links as Linux itself follows. */
const MAX_LINKS = 40;

interface Walk {
  links: number;
  real: string;
  todo: string[];
}

/**
 * Resolves an absolute path as the kernel would, the last name included: what a write through it
 * would touch. Names that do not exist yet are kept. @throws GateError `invalid` for a loop of links
 * and for folders that cannot be looked into
 */
export function resolvePath(path: string): ResolvedPath {
  const walk = { links: 0, real: parse(resolve(path)).root, todo: namesOf(path) };
  while (walk.todo.length > 0) step(walk, path);
  return { lexical: resolve(path), real: asOnDisk(walk.real) };
}

function step(walk: Walk, asked: string): void {
  const name = walk.todo.shift()!;
  if (name === "..") {
    walk.real = join(walk.real, "..");
    return;
  }
  const next = join(walk.real, name);
  const target = linkTarget(next, asked);
  if (target === null) {
    walk.real = next;
    return;
  }
  if (++walk.links > MAX_LINKS) {
    throw new GateError("invalid", `Cannot use the path "${asked}": too many symbolic links`);
  }
  if (isAbsolute(target)) walk.real = parse(target).root;
  walk.todo.unshift(...namesOf(target));
}

function linkTarget(path: string, asked: string): string | null {
  try {
    const found = lstatSync(path, { throwIfNoEntry: false });
    return found?.isSymbolicLink() ? readlinkSync(path) : null;
  } catch (cause) {
    const { code } = cause as { code?: string };
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw new GateError("invalid", `Cannot use the path "${asked}": ${code ?? "unreadable"}`, {
      cause,
    });
  }
}

function namesOf(path: string): string[] {
  const rest = isAbsolute(path) ? path.slice(parse(path).root.length) : path;
  const names = rest.split(sep === "\\" ? /[\\/]+/ : /\/+/);
  return names.filter((name) => name !== "" && name !== ".");
}

/** Elsewhere than on Linux a name has several spellings: takes the one the disk uses. */
function asOnDisk(path: string): string {
  if (process.platform === "linux") return path;
  const tail: string[] = [];
  for (let head = path;;) {
    try {
      return join(realpathSync.native(head), ...tail);
    } catch {
      const up = join(head, "..");
      if (up === head) return path;
      tail.unshift(head.slice(up.length).replace(/^[\\/]+/, ""));
      head = up;
    }
  }
}
