import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fsync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  realpathSync,
  rmdirSync,
  statSync,
} from "node:fs";
import { basename, dirname, join, parse } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { GateError, reasonOfCode } from "../errors.ts";
import { COMMON_CALLS, readySystemCalls } from "./system_calls.ts";

/** An open folder: its names keep their meaning until `close`, even if a parent is renamed. */
export interface Folder {
  /** The real path that opened it. */
  readonly path: string;
  /** A path to that name in this folder; a symbolic link there is not followed. */
  at(name: string): string;
  /** @throws GateError `conflict` when `path` now leads to another folder */
  check(): void;
  /** Makes changes of the names in it durable. */
  sync(): Promise<void>;
  close(): void;
}

/** An open folder, and the folders that were created for it, outermost first. */
export interface OpenedFolder {
  folder: Folder;
  made: string[];
}

const syncFolder = promisify(fsync);

const { O_RDONLY } = constants;
const O_DIRECTORY = constants.O_DIRECTORY ?? 0;
const O_NOFOLLOW = constants.O_NOFOLLOW ?? 0;
/** Linux: opens a folder without the right to list it. The number is the same on x64 and arm64. */
const O_PATH = 0o10000000;

/** Stands for the current folder; the paths here are absolute. */
const AT_FDCWD = -100;
const O_CLOEXEC = 0o2000000;
/** No symbolic link and no link of /proc in any part of the path. */
const RESOLVE_NO_LINKS = 0x04 | 0x02;
/** Linux: the flags, the mode and the way of `openat2`. */
const WITHOUT_LINKS = new Uint8Array(
  BigUint64Array.of(
    BigInt(O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
    0n,
    BigInt(RESOLVE_NO_LINKS),
  ).buffer,
);

const byDescriptor = process.platform === "linux" && existsSync("/proc/self/fd");

/**
 * Opens a folder by its real path, one name at a time, and follows no link: a folder that was
 * replaced by a link cannot lead elsewhere. `make` creates missing folders.
 * @throws GateError `conflict` for a link, `not_found` for a missing folder
 */
export function openFolder(path: string, options: { make?: boolean } = {}): OpenedFolder {
  return byDescriptor ? walk(path, options.make ?? false) : openByName(path, options.make ?? false);
}

/** Returns what `use` returns, with the folder open meanwhile. `use` must be synchronous. */
export function withFolder<T>(path: string, use: (folder: Folder) => T): T {
  const { folder } = openFolder(path);
  try {
    return use(folder);
  } finally {
    folder.close();
  }
}

/** Creates a folder and its missing parents. */
export function makeFolder(path: string): void {
  openFolder(path, { make: true }).folder.close();
}

/** Sets the permission bits of a folder if they still are `expected`; failures are ignored. */
export function setFolderMode(path: string, mode: number, expected?: number): void {
  try {
    withFolder(path, (folder) => {
      const now = statSync(folder.at(".")).mode & 0o777;
      if (expected === undefined || now === expected) chmodSync(folder.at("."), mode);
    });
  } catch {
    // It no longer exists, or another user owns it: its files are right all the same.
  }
}

/** Removes the empty ones of these folders, innermost first. */
export function removeEmptyFolders(made: readonly string[]): void {
  for (const path of [...made].sort((a, b) => b.length - a.length)) {
    try {
      withFolder(dirname(path), (folder) => rmdirSync(folder.at(basename(path))));
    } catch {
      // Not empty, already removed or not permitted: the loop goes on with its parents.
    }
  }
}

function walk(path: string, make: boolean): OpenedFolder {
  const opened = openWhole(path);
  if (opened !== null) return { folder: heldOpen(opened, path), made: [] };
  const names = path.split("/").filter((name) => name !== "");
  const made: string[] = [];
  let fd = openSync("/", O_PATH | O_DIRECTORY);
  let here = "";
  try {
    for (const [index, name] of names.entries()) {
      const next = enter(fd, name, {
        make,
        last: index === names.length - 1,
        path: `${here}/${name}`,
      });
      closeSync(fd);
      fd = next.fd;
      here = `${here}/${name}`;
      if (next.made) made.push(here);
    }
    return { folder: heldOpen(fd, path), made };
  } catch (error) {
    closeSync(fd);
    removeEmptyFolders(made);
    throw error;
  }
}

/** The open folder, if one call can open it without following a link; else null. */
function openWhole(path: string): number | null {
  const calls = readySystemCalls();
  if (!calls?.shares_descriptors || !path.isWellFormed() || path.includes("\0")) return null;
  const name = new TextEncoder().encode(`${path}\0`);
  const fd = calls.call(COMMON_CALLS.openat2, AT_FDCWD, name, WITHOUT_LINKS, WITHOUT_LINKS.length);
  return fd < 0 ? null : fd;
}

function enter(
  parent: number,
  name: string,
  want: { make: boolean; last: boolean; path: string },
): { fd: number; made: boolean } {
  const at = `/proc/self/fd/${parent}/${name}`;
  let made = false;
  for (let attempt = 0;; attempt++) {
    try {
      return { fd: openOne(at, want.last), made };
    } catch (cause) {
      const { code } = cause as { code?: string };
      if (code !== "ENOENT" || !want.make || attempt > 3) throw cannotEnter(want.path, at, cause);
    }
    made = makeOne(at) || made;
  }
}

function openOne(at: string, last: boolean): number {
  if (!last) return openSync(at, O_PATH | O_DIRECTORY | O_NOFOLLOW);
  try {
    return openSync(at, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  } catch (error) {
    // Without the right to list it, a folder can still be entered; it only cannot be synced.
    if ((error as { code?: string }).code !== "EACCES") throw error;
    return openSync(at, O_PATH | O_DIRECTORY | O_NOFOLLOW);
  }
}

function makeOne(at: string): boolean {
  try {
    mkdirSync(at);
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === "EEXIST") return false;
    throw error;
  }
}

function cannotEnter(path: string, at: string, cause: unknown): GateError {
  const { code } = cause as { code?: string };
  const isLink = lstatSync(at, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
  if (isLink || code === "ELOOP") {
    return new GateError("conflict", `Cannot use "${path}": a symbolic link has replaced it`, {
      cause,
    });
  }
  if (code === "ENOENT") return noFolder(path);
  if (code === "ENOTDIR") {
    return new GateError("invalid", `Cannot open "${path}": it is not a folder`, { cause });
  }
  return new GateError("invalid", `Cannot open the folder "${path}": ${reasonOfCode(code)}`, {
    cause,
  });
}

function heldOpen(fd: number, path: string): Folder {
  return {
    path,
    at: (name) => `/proc/self/fd/${fd}/${name}`,
    check() {
      if (readlinkSync(`/proc/self/fd/${fd}`) !== path) throw moved(path);
    },
    async sync() {
      try {
        await syncFolder(fd);
      } catch (error) {
        if ((error as { code?: string }).code !== "EBADF") throw error; // opened with O_PATH
      }
    },
    close: () => closeSync(fd),
  };
}

function noFolder(path: string): GateError {
  const message = `Cannot open "${path}": the folder does not exist; create it or use another path`;
  return new GateError("not_found", message);
}

/** Opens a folder by name and checks its identity again, where no descriptor can be walked. */
export function openByName(path: string, make: boolean): OpenedFolder {
  const made = make ? makeByName(path) : [];
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found) throw noFolder(path);
  if (found.isSymbolicLink()) throw moved(path);
  if (!found.isDirectory()) {
    throw new GateError("invalid", `Cannot open "${path}": it is not a folder`);
  }
  const check = () => {
    const now = lstatSync(path, { throwIfNoEntry: false });
    const same = now?.isDirectory() && now.ino === found.ino && now.dev === found.dev;
    if (!same || realpathSync.native(path) !== path) throw moved(path);
  };
  check();
  const folder = { path, at: (name: string) => join(path, name), check, sync, close: () => {} };
  return { folder, made };

  async function sync() {
    if (process.platform === "win32") return; // Windows cannot sync a folder
    const fd = openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    await syncFolder(fd).finally(() => closeSync(fd));
  }
}

function makeByName(path: string): string[] {
  const made: string[] = [];
  try {
    for (const folder of missingFolders(path)) {
      if (realpathSync.native(dirname(folder)) !== dirname(folder)) throw moved(dirname(folder));
      if (makeOne(folder)) made.push(folder);
    }
    return made;
  } catch (error) {
    removeEmptyFolders(made);
    throw error;
  }
}

/** The folders up to and including `path` that do not exist, outermost first. */
export function missingFolders(path: string): string[] {
  const missing: string[] = [];
  for (let at = path; at !== parse(at).root; at = dirname(at)) {
    if (lstatSync(at, { throwIfNoEntry: false })) break;
    missing.unshift(at);
  }
  return missing;
}

function moved(path: string): GateError {
  return new GateError(
    "conflict",
    `Cannot use the folder "${path}": another folder has replaced it`,
  );
}
