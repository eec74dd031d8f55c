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
import { GateError } from "../errors.ts";
import { type Folder, openFolder } from "./folder.ts";

/** What stands at a path: a regular file's content hash, size and permission bits. */
export interface FileState {
  sha256: string;
  bytes: number;
  mode: number;
}

/** A file's state with its content, which is null where it is larger than was asked for. */
export interface FileImage extends FileState {
  content: Uint8Array<ArrayBuffer> | null;
}

const { O_RDONLY } = constants;
const O_NOFOLLOW = constants.O_NOFOLLOW ?? 0;
const O_NONBLOCK = constants.O_NONBLOCK ?? 0;
const CHUNK = 1024 * 1024;
/** Smaller pieces are read and written at once: another thread would take longer to be asked. */
export const SMALL = 64 * 1024 + 1;
const MAX_FILE = 4 * 1024 * 1024 * 1024;

/** The file at a real path, or null where there is none. @throws GateError for what is no regular file */
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
 * The file at a real path in pieces of `size` bytes, the last one shorter. A piece is only good until
 * the next is asked for. @throws GateError `not_found`, `invalid`
 */
export async function* readPieces(path: string, size: number): AsyncGenerator<Uint8Array> {
  const { folder } = openFolder(dirname(path));
  try {
    const opened = openRegular(folder, basename(path));
    if (!opened) throw new GateError("not_found", `Cannot read "${path}": it has gone`);
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

/** The file of that name in a folder held open. */
export async function inspect(
  folder: Folder,
  name: string,
  keep: number,
): Promise<FileImage | null> {
  const opened = openRegular(folder, name);
  if (!opened) return null;
  const { fd, stats } = opened;
  try {
    return { ...await contentOf(fd, stats.size, keep), mode: stats.mode & 0o777 };
  } finally {
    closeSync(fd);
  }
}

function openRegular(folder: Folder, name: string): { fd: number; stats: Stats } | null {
  const found = regularOrNothing(folder, name);
  if (!found) return null;
  if (found.size > MAX_FILE) {
    throw new GateError("too_large", `Cannot use "${name}": it is larger than 4 GiB`);
  }
  // Not blocking: in the blink since the look above, a pipe may have taken the file's place.
  const fd = openSync(folder.at(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  const stats = fstatSync(fd);
  if (stats.isFile()) return { fd, stats };
  closeSync(fd);
  throw notRegular(name);
}

async function contentOf(fd: number, expected: number, keep: number) {
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
    // What is not kept is read into the same piece of memory again.
    if (expected <= keep && bytes <= keep && kept.push(part)) chunk = new Uint8Array(size);
    if (bytes > MAX_FILE) throw new GateError("too_large", "Cannot use a file that keeps growing");
  }
  const isKept = expected <= keep && bytes <= keep;
  return { sha256: hash.digest("hex"), bytes, content: isKept ? joined(kept, bytes) : null };
}

/** Small pieces at once: handing them to another thread takes longer than reading them. */
async function readPart(fd: number, chunk: Uint8Array): Promise<number> {
  if (chunk.length <= SMALL) return readSync(fd, chunk, 0, chunk.length, null);
  return (await promisify(read)(fd, chunk, 0, chunk.length, null)).bytesRead;
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

function joined(parts: Uint8Array[], bytes: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** What stands under a name, which may only be a regular file. */
export function regularOrNothing(folder: Folder, name: string): Stats | null {
  const found = lstatSync(folder.at(name), { throwIfNoEntry: false });
  if (!found) return null;
  if (found.isSymbolicLink()) {
    throw new GateError("conflict", `Cannot use "${name}": it has become a link meanwhile`);
  }
  if (!found.isFile()) throw notRegular(name);
  return found;
}

/** What the system refuses is the caller's to mend, unless the system itself has run out. */
function unreadable(path: string, cause: unknown): GateError {
  const { code = "unknown error" } = cause as { code?: string };
  const isOurs = /^(EMFILE|ENFILE|ENOMEM|EIO|EBUSY|EAGAIN)$/.test(code);
  return new GateError(isOurs ? "unavailable" : "invalid", `Cannot read "${path}": ${code}`, {
    cause,
  });
}

function notRegular(name: string): GateError {
  return new GateError("invalid", `Cannot use "${name}": it is not a regular file`);
}
