import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  read,
  readSync,
  type Stats,
} from "node:fs";
import { createHash } from "node:crypto";
import { basename, dirname } from "node:path";
import { promisify } from "node:util";
import { LRUCache } from "lru-cache";
import { GateError, reasonOfCode } from "../errors.ts";
import { type Folder, openFolder, withFolder } from "./folder.ts";

/** A regular file's content hash, size and permission bits. */
export interface FileState {
  sha256: string;
  bytes: number;
  mode: number;
}

/** A file's state with its content; null when it is larger than the caller wants to keep. */
export interface FileImage extends FileState {
  content: Uint8Array<ArrayBuffer> | null;
}

const readPiece = promisify(read);

const { O_RDONLY } = constants;
const O_NOFOLLOW = constants.O_NOFOLLOW ?? 0;
const O_NONBLOCK = constants.O_NONBLOCK ?? 0;
const CHUNK = 1024 * 1024;
/** Smaller pieces are read and written synchronously: handing them to a thread takes longer. */
export const SMALL = 64 * 1024 + 1;
const MAX_FILE = 4 * 1024 * 1024 * 1024;

/**
 * The file at a real path, with its content if that has at most `keep` bytes; null when there is no
 * file. @throws GateError for anything but a regular file
 */
export async function readImage(path: string, keep: number): Promise<FileImage | null> {
  try {
    const { folder } = openFolder(dirname(path));
    try {
      return await inspect(folder, basename(path), keep);
    } finally {
      folder.close();
    }
  } catch (error) {
    if (!(error instanceof GateError)) throw unreadable(path, error);
    if (error.code === "not_found") return null;
    throw error;
  }
}

/**
 * The file at a real path in pieces of `size` bytes, the last one shorter. The next piece overwrites
 * the memory of the one before. @throws GateError `not_found`, `invalid`
 */
export async function* readPieces(path: string, size: number): AsyncGenerator<Uint8Array> {
  const { folder } = openFolder(dirname(path));
  try {
    const opened = openRegular(folder, basename(path));
    if (!opened) throw new GateError("not_found", `Cannot read "${path}": it no longer exists`);
    const chunk = new Uint8Array(size);
    try {
      for (let filled = size; filled === size;) {
        filled = await readWhole(opened.fd, chunk);
        if (filled > 0) yield chunk.subarray(0, filled);
      }
    } finally {
      closeSync(opened.fd);
    }
  } finally {
    folder.close();
  }
}

/** Reads the file of that name in an open folder; null when there is none. */
async function inspect(
  folder: Folder,
  name: string,
  keep: number,
): Promise<FileImage | null> {
  const held = await inspectHeld(folder, name, keep);
  if (!held) return null;
  closeSync(held.fd);
  return held.image;
}

/** The same as `inspect`; the caller closes the file. */
export async function inspectHeld(
  folder: Folder,
  name: string,
  keep: number,
): Promise<{ image: FileImage; fd: number } | null> {
  const opened = openRegular(folder, name);
  if (!opened) return null;
  const { fd, stats } = opened;
  try {
    const image = { ...await readContent(fd, stats.size, keep), mode: stats.mode & 0o777 };
    return { image, fd };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

function openRegular(folder: Folder, name: string): { fd: number; stats: Stats } | null {
  const found = regularOrNothing(folder, name);
  if (!found) return null;
  if (found.size > MAX_FILE) {
    throw new GateError(
      "too_large",
      `Cannot read "${name}": it is larger than 4 GiB; use a smaller file`,
    );
  }
  // O_NONBLOCK: a pipe may have replaced the file since the check above.
  const fd = openSync(folder.at(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  const stats = fstatSync(fd);
  if (stats.isFile()) return { fd, stats };
  closeSync(fd);
  throw notRegular(name);
}

async function readContent(fd: number, expected: number, keep: number) {
  const hash = createHash("sha256");
  const kept: Uint8Array[] = [];
  let bytes = 0;
  const size = Math.min(CHUNK, expected + 1);
  let chunk = new Uint8Array(size);
  for (;;) {
    const bytesRead = await readPart(fd, chunk);
    if (bytesRead === 0) break;
    const part = chunk.subarray(0, bytesRead);
    hash.update(part);
    bytes += bytesRead;
    // A piece that is not kept is overwritten by the next read.
    if (expected <= keep && bytes <= keep && kept.push(part)) chunk = new Uint8Array(size);
    if (bytes > MAX_FILE) {
      throw new GateError(
        "too_large",
        "Cannot read the file: it grew beyond 4 GiB during the read",
      );
    }
  }
  const isKept = expected <= keep && bytes <= keep;
  return { sha256: hash.digest("hex"), bytes, content: isKept ? Buffer.concat(kept, bytes) : null };
}

async function readPart(fd: number, chunk: Uint8Array): Promise<number> {
  if (chunk.length <= SMALL) return readSync(fd, chunk, 0, chunk.length, null);
  return (await readPiece(fd, chunk, 0, chunk.length, null)).bytesRead;
}

async function readWhole(fd: number, chunk: Uint8Array): Promise<number> {
  let filled = 0;
  while (filled < chunk.length) {
    const bytesRead = await readPart(fd, chunk.subarray(filled));
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return filled;
}

/** The file of that name in an open folder; null when there is none. @throws GateError for others */
export function regularOrNothing(folder: Folder, name: string): Stats | null {
  const found = lstatSync(folder.at(name), { throwIfNoEntry: false });
  if (!found) return null;
  if (found.isSymbolicLink()) {
    throw new GateError("conflict", `Cannot use "${name}": a symbolic link has replaced it`);
  }
  if (!found.isFile()) throw notRegular(name);
  return found;
}

/** The caller can fix most failures; the daemon reports those of the system as its own. */
function unreadable(path: string, cause: unknown): GateError {
  const { code } = cause as { code?: string };
  const isSystem = /^(EMFILE|ENFILE|ENOMEM|EIO|EBUSY|EAGAIN)$/.test(code ?? "");
  const next = code === "EACCES" ? "; give the daemon's user read access" : "";
  const message = `Cannot read "${path}": ${reasonOfCode(code)}${next}`;
  return new GateError(isSystem ? "unavailable" : "invalid", message, { cause });
}

function notRegular(name: string): GateError {
  return new GateError("invalid", `Cannot use "${name}": it is not a regular file`);
}

/** Smaller files are read each time: that is as fast as finding them in a cache. */
const LARGE = 1024 * 1024;
const MOST_SEEN = 64;
/** A file that changed less than this ago may change again with the same time stamps. */
const SETTLED_MS = 2_000;

export interface SeenFilesOptions {
  read?: typeof readImage;
  now?: () => number;
}

/**
 * Shows the state of files without reading a large one again while its metadata stays the same.
 * For display only: a decision or a write must read the file itself.
 */
export class SeenFiles {
  readonly #read: typeof readImage;
  readonly #now: () => number;
  readonly #seen = new LRUCache<string, { signature: string; image: FileImage }>({
    max: MOST_SEEN,
  });

  constructor({ read = readImage, now = Date.now }: SeenFilesOptions = {}) {
    this.#read = read;
    this.#now = now;
  }

  /** As `readImage`. @throws GateError for anything but a regular file */
  async look(path: string, keep: number): Promise<FileImage | null> {
    const before = readMetadata(path);
    if (!before || before.size <= Math.max(keep, LARGE)) return await this.#read(path, keep);
    const { signature } = before;
    const known = this.#seen.get(path);
    if (known?.signature === signature) return known.image;
    this.#seen.delete(path);
    const image = await this.#read(path, keep);
    const isSettled = this.#now() - before.changed > SETTLED_MS;
    if (image && isSettled && readMetadata(path)?.signature === signature) {
      this.#seen.set(path, { signature, image: { ...image, content: null } });
    }
    return image;
  }
}

/** Null when there is no regular file; reading it then gives the reason. */
function readMetadata(path: string) {
  try {
    const found = withFolder(dirname(path), (folder) => regularOrNothing(folder, basename(path)));
    if (!found) return null;
    const { dev, ino, size, mode, mtimeMs, ctimeMs } = found;
    const signature = [dev, ino, size, mode, mtimeMs, ctimeMs].join(" ");
    return { size, signature, changed: Math.max(mtimeMs, ctimeMs) };
  } catch {
    return null;
  }
}
