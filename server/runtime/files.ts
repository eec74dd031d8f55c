import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsync,
  openSync,
  renameSync,
  type Stats,
  unlinkSync,
  write,
  writeSync,
} from "node:fs";
import { basename, dirname } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { GateError } from "../errors.ts";
import { inspect, regularOrNothing, SMALL } from "./file_image.ts";
import { type Folder, openFolder, removeEmptyFolders } from "./folder.ts";

/** One file that is to change; `path` is real, and `before` is what must stand there until then. */
export interface FileChange {
  path: string;
  before: string | null;
  /** Null deletes the file. A mode of null keeps the old one, or is that of an ordinary new file. */
  after: NewFile | null;
  /** Name of the temporary file, known beforehand so that recovery can remove it. */
  temporary: string;
}

/** What is to stand there; a large content comes piece by piece. */
export interface NewFile {
  content: Uint8Array | AsyncIterable<Uint8Array>;
  mode: number | null;
}

/** What was done besides the change itself. */
export interface Applied {
  made_folders: string[];
}

type Fault = (step: string) => void | Promise<void>;

const { O_CREAT, O_EXCL, O_WRONLY } = constants;
const O_NOFOLLOW = constants.O_NOFOLLOW ?? 0;

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
  after: NewFile,
  fault: Fault,
): Promise<void> {
  const name = basename(change.path);
  const old = regularOrNothing(folder, name);
  const temporary = folder.at(change.temporary);
  const fd = openSync(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  try {
    try {
      for await (const piece of piecesOf(after.content)) await writeAll(fd, piece);
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

function piecesOf(content: NewFile["content"]) {
  return content instanceof Uint8Array ? [content] : content;
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
