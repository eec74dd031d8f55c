import { type Dirent, lstatSync, opendirSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { Buffer } from "node:buffer";
import { basename, isAbsolute, join, parse, resolve, sep } from "node:path";
import process from "node:process";
import { GateError, reasonOfCode } from "../errors.ts";

/** A path as written (absolute, `..` folded) and as the kernel sees it (links resolved). */
export interface ResolvedPath {
  lexical: string;
  real: string;
}

/** One name in a folder, and what it is. */
interface Entry {
  name: string;
  kind: "file" | "folder" | "link";
}

/** Linux follows as many links. */
const MAX_LINKS = 40;

interface Walk {
  links: number;
  real: string;
  todo: string[];
}

/**
 * Resolves every link of an absolute path, the last name included: the result is the file that a
 * write would change. Names that do not exist yet are kept. @throws GateError `invalid` for a loop of
 * links and for folders that cannot be read
 */
export function resolvePath(path: string): ResolvedPath {
  const walk = { links: 0, real: parse(resolve(path)).root, todo: namesOf(path) };
  while (walk.todo.length > 0) step(walk, path);
  // Bun would replace half of a surrogate pair, and the policy could not refuse it any more.
  const lexical = path.isWellFormed() ? resolve(path) : path;
  return { lexical, real: asOnDisk(walk.real) };
}

function step(walk: Walk, path: string): void {
  const name = walk.todo.shift()!;
  if (name === "..") {
    walk.real = join(walk.real, "..");
    return;
  }
  const next = join(walk.real, name);
  if (PROCESS.test(walk.real)) {
    // The kernel follows these links for the process that asks, which is another one than this.
    walk.real = name === "root" ? parse(walk.real).root : next;
    return;
  }
  const target = linkTarget(next, path);
  if (target === null) {
    walk.real = next;
    return;
  }
  if (++walk.links > MAX_LINKS) {
    throw new GateError(
      "invalid",
      `Cannot resolve "${path}": its symbolic links form a loop or number more than ${MAX_LINKS}; ` +
        "use the real path",
    );
  }
  if (isAbsolute(target)) walk.real = parse(target).root;
  walk.todo.unshift(...namesOf(target));
}

const MOST_NAMES = 4_000;
/** The longest name of a file, in bytes. */
const MOST_BYTES = 255;

/** The entries of a folder, empty if there is none; null if it is unreadable or too large. */
export function listFolder(folder: string): Entry[] | null {
  try {
    const opened = opendirSync(folder, { bufferSize: 256 });
    try {
      const entries: Entry[] = [];
      for (let entry = opened.readSync(); entry; entry = opened.readSync()) {
        if (entries.push({ name: entry.name, kind: kindOf(entry) }) > MOST_NAMES) return null;
      }
      return entries;
    } finally {
      opened.closeSync();
    }
  } catch (error) {
    const { code } = error as { code?: string };
    return code === "ENOENT" || code === "ENOTDIR" ? [] : null;
  }
}

function kindOf(entry: Dirent): Entry["kind"] {
  if (entry.isSymbolicLink()) return "link";
  return entry.isDirectory() ? "folder" : "file";
}

/** The folder of a process, or of its open files: its links mean another file to each process. */
const PROCESS = /^\/proc\/(?:self|thread-self|\d+)(?:\/task\/\d+)?(?:\/fd|\/map_files)?$/;

/** The device and inode of a folder; null if there is no such folder. */
export function folderIdentity(path: string): string | null {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    return found?.isDirectory() ? `${found.dev}:${found.ino}` : null;
  } catch {
    return null;
  }
}

function linkTarget(at: string, path: string): string | null {
  try {
    if (at === "/proc/self" || at === "/proc/thread-self") return null;
    const found = lstatSync(at, { throwIfNoEntry: false });
    return found?.isSymbolicLink() ? readlinkSync(at) : null;
  } catch (cause) {
    const { code } = cause as { code?: string };
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    // No file can have such a name; a long path of short names may exist.
    if (code === "ENAMETOOLONG" && Buffer.byteLength(basename(at)) > MOST_BYTES) return null;
    throw new GateError("invalid", `Cannot resolve "${path}": ${reasonOfCode(code)}`, {
      cause,
    });
  }
}

function namesOf(path: string): string[] {
  const rest = isAbsolute(path) ? path.slice(parse(path).root.length) : path;
  const names = rest.split(sep === "\\" ? /[\\/]+/ : /\/+/);
  return names.filter((name) => name !== "" && name !== ".");
}

/** Spells the path as the disk does: outside Linux one file can have several spellings. */
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
