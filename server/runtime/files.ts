import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsync,
  lstatSync,
  openSync,
  read,
  readSync,
  renameSync,
  type Stats,
  unlinkSync,
  write,
  writeSync,
} from "node:fs";
import { createHash } from "node:crypto";
import { basename, dirname } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { GateError } from "../errors.ts";
import { type Folder, openFolder, removeEmptyFolders } from "./folder.ts";

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

/** One file that is to change; `path` is real, and `before` is what must stand there until then. */
export interface FileChange {
  path: string;
  before: string | null;
  /** Null deletes the file. A mode of null keeps the old one, or is that of an ordinary new file. */
  after: { content: Uint8Array; mode: number | null } | null;
  /** Name of the temporary file, known beforehand so that recovery can remove it. */
  temporary: string;
}

/** What was done besides the change itself. */
export interface Applied {
  made_folders: string[];
}

type Fault = (step: string) => void | Promise<void>;

const { O_CREAT, O_EXCL, O_RDONLY, O_WRONLY } = constants;
const O_NOFOLLOW = constants.O_NOFOLLOW ?? 0;
const O_NONBLOCK = constants.O_NONBLOCK ?? 0;
const CHUNK = 1024 * 1024;
const SMALL = 64 * 1024 + 1;
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
 * Makes one change whole or not at all, through a temporary file in the same folder.
 * @throws GateError `conflict`, nothing touched, when something else than `before` stands there
 */
export async function applyChange(change: FileChange, fault: Fault = () => {}): Promise<Applied> {
  const { folder, made } = openFolder(dirname(change.path), { make: change.after !== null });
  try {
    if (change.after === null) await remove(folder, change);
    else await replace(folder, change, change.after, fault);
    await fault("renamed");
    await folder.sync();
    await syncParents(made);
    return { made_folders: made };
  } catch (error) {
    removeEmptyFolders(made);
    throw error;
  } finally {
    folder.close();
  }
}

/** Removes a temporary file that a crash left behind. */
export function removeTemporary(path: string, temporary: string): void {
  try {
    const { folder } = openFolder(dirname(path));
    try {
      unlinkQuietly(folder.at(temporary));
    } finally {
      folder.close();
    }
  } catch {
    // The folder is gone, and the file with it.
  }
}

async function remove(folder: Folder, change: FileChange): Promise<void> {
  await expectBefore(folder, change);
  unlinkSync(folder.at(basename(change.path)));
}

async function replace(
  folder: Folder,
  change: FileChange,
  after: { content: Uint8Array; mode: number | null },
  fault: Fault,
): Promise<void> {
  const name = basename(change.path);
  const old = regularOrNothing(folder, name);
  const temporary = folder.at(change.temporary);
  const fd = openSync(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  try {
    try {
      await writeAll(fd, after.content);
      if (old) keepOwner(fd, old);
      fchmodSync(fd, after.mode ?? (old ? old.mode & 0o777 : 0o666 & ~process.umask()));
      await promisify(fsync)(fd);
    } finally {
      closeSync(fd);
    }
    await fault("temporary");
    await expectBefore(folder, change);
    folder.check();
    renameSync(temporary, folder.at(name));
  } catch (error) {
    unlinkQuietly(temporary);
    throw error;
  }
}

async function expectBefore(folder: Folder, change: FileChange): Promise<void> {
  const now = await inspect(folder, basename(change.path), 0);
  if ((now?.sha256 ?? null) === change.before) return;
  throw new GateError("conflict", `Cannot change "${change.path}": it has changed meanwhile`, {
    fields: { expected_sha256: change.before, now_sha256: now?.sha256 ?? null },
  });
}

async function inspect(folder: Folder, name: string, keep: number): Promise<FileImage | null> {
  const found = regularOrNothing(folder, name);
  if (!found) return null;
  if (found.size > MAX_FILE) {
    throw new GateError("too_large", `Cannot use "${name}": it is larger than 4 GiB`);
  }
  // Not blocking: in the blink since the look above, a pipe may have taken the file's place.
  const fd = openSync(folder.at(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile()) throw notRegular(name);
    return { ...await contentOf(fd, stats.size, keep), mode: stats.mode & 0o777 };
  } finally {
    closeSync(fd);
  }
}

async function contentOf(fd: number, expected: number, keep: number) {
  const hash = createHash("sha256");
  const kept: Uint8Array[] = [];
  let bytes = 0;
  for (;;) {
    const chunk = new Uint8Array(Math.min(CHUNK, expected + 1));
    const bytesRead = await readPart(fd, chunk);
    if (bytesRead === 0) break;
    const part = chunk.subarray(0, bytesRead);
    hash.update(part);
    bytes += bytesRead;
    if (bytes <= keep) kept.push(part);
    if (bytes > MAX_FILE) throw new GateError("too_large", "Cannot use a file that keeps growing");
  }
  return { sha256: hash.digest("hex"), bytes, content: bytes <= keep ? joined(kept, bytes) : null };
}

/** Small pieces at once: handing them to another thread takes longer than reading them. */
async function readPart(fd: number, chunk: Uint8Array): Promise<number> {
  if (chunk.length <= SMALL) return readSync(fd, chunk, 0, chunk.length, null);
  return (await promisify(read)(fd, chunk, 0, chunk.length, null)).bytesRead;
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

function regularOrNothing(folder: Folder, name: string): Stats | null {
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

async function writeAll(fd: number, content: Uint8Array): Promise<void> {
  for (let at = 0; at < content.length;) {
    const left = content.length - at;
    at += left <= SMALL
      ? writeSync(fd, content, at, left, null)
      : (await promisify(write)(fd, content, at, left, null)).bytesWritten;
  }
}

/** The owner is kept where we may; permission bits that run as another user never are. */
function keepOwner(fd: number, old: Stats): void {
  const mine = fstatSync(fd);
  if (mine.uid === old.uid && mine.gid === old.gid) return;
  try {
    fchownSync(fd, old.uid, old.gid);
  } catch {
    // Only root may give files away: the file is then ours, as with any editor that replaces it.
  }
}

async function syncParents(made: readonly string[]): Promise<void> {
  for (const path of made) {
    const { folder } = openFolder(dirname(path));
    await folder.sync().finally(() => folder.close());
  }
}

function unlinkQuietly(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // It was renamed or never made.
  }
}
