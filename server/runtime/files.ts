import {
  close,
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
import { inspectHeld, regularOrNothing, SMALL } from "./file_image.ts";
import { type Folder, openFolder, removeEmptyFolders, withFolder } from "./folder.ts";
import { canNameFiles, createUnnamed, nameFile } from "./unnamed_file.ts";

/** One change of a file. `path` is real; `before` is the hash that the file must have until then. */
export interface FileChange {
  path: string;
  before: string | null;
  /** Null deletes the file. */
  after: NewFile | null;
  /** Name of the temporary file; recorded before, so that recovery can remove it. */
  temporary: string;
}

/** The new content; a large one comes in pieces. */
export interface NewFile {
  content: Uint8Array | AsyncIterable<Uint8Array>;
  /** Null keeps the mode of the old file, or takes the default mode of a new one. */
  mode: number | null;
}

/** The side effects of a change of a file. */
export interface Applied {
  made_folders: string[];
}

/** A change that every program sees, and that a power cut may still take. */
export interface Shown extends Applied {
  /** Settles when the disk has the folder's entry. */
  settled: Promise<void>;
}

type Fault = (step: string) => void | Promise<void>;

// Made once: each `promisify` takes as long as handing the work to a thread.
const syncFile = promisify(fsync);
const writePiece = promisify(write);

const { O_CREAT, O_EXCL, O_WRONLY } = constants;
const O_NOFOLLOW = constants.O_NOFOLLOW ?? 0;

/**
 * Makes one change atomically, through a temporary file in the same folder.
 * @throws GateError `conflict`, with nothing changed, when the file's hash is not `before`
 */
export async function applyChange(change: FileChange, fault: Fault = () => {}): Promise<Applied> {
  const { made_folders, settled } = await showChange(change, fault);
  await settled;
  return { made_folders };
}

/** The new content of a change in a file of its own, on the disk, in a folder that is held open. */
export interface Staged {
  folder: Folder;
  /** The file that it will replace. */
  old: Stats | null;
  /** The open file while it has no name; null for the temporary file of the change. */
  unnamed: number | null;
}

/** Writes the temporary file of a change whose folder exists. `showChange` or `dropStaged` ends it. */
export async function stageChange(
  change: Pick<FileChange, "path" | "temporary">,
  after: NewFile,
): Promise<Staged> {
  const { folder } = openFolder(dirname(change.path));
  try {
    return { folder, old: await writeTemporary(folder, change, after), unnamed: null };
  } catch (error) {
    folder.close();
    throw error;
  }
}

/**
 * Stages a change as `stageChange` does, in a file that has no name before `showChange`, so that a crash
 * leaves nothing. Returns null where that is not possible.
 */
export function stageUnnamed(
  change: Pick<FileChange, "path">,
  after: NewFile,
): Promise<Staged> | null {
  if (!canNameFiles()) return null;
  const { folder } = openFolder(dirname(change.path));
  const unnamed = createUnnamed(folder);
  if (unnamed !== null) return fillUnnamed(folder, unnamed, change, after);
  folder.close();
  return null;
}

async function fillUnnamed(
  folder: Folder,
  unnamed: number,
  change: Pick<FileChange, "path">,
  after: NewFile,
): Promise<Staged> {
  try {
    const old = regularOrNothing(folder, basename(change.path));
    await fill(unnamed, after, old);
    return { folder, old, unnamed };
  } catch (error) {
    closeSync(unnamed);
    folder.close();
    throw error;
  }
}

/** Removes the file of a change that is not made. */
export function dropStaged({ folder, unnamed }: Staged, temporary: string): void {
  if (unnamed === null) unlinkQuietly(folder.at(temporary));
  else closeSync(unnamed);
  folder.close();
}

/**
 * The same as `applyChange`, without waiting until the disk has the folder's entry. It takes over
 * what is staged. @throws GateError `conflict`
 */
export async function showChange(
  change: FileChange,
  fault: Fault = () => {},
  staged: Staged | null = null,
): Promise<Shown> {
  const { folder, made } = staged
    ? { folder: staged.folder, made: [] }
    : openFolder(dirname(change.path), { make: change.after !== null });
  const old = new OldFile();
  try {
    if (change.after === null) await remove(folder, change, old);
    else await replace(folder, change, change.after, { fault, staged, old });
    await fault("renamed");
  } catch (error) {
    removeEmptyFolders(made);
    folder.close();
    old.letGo();
    throw error;
  }
  return { made_folders: made, settled: settle({ folder, made, old }, fault) };
}

async function settle(
  { folder, made, old }: { folder: Folder; made: readonly string[]; old: OldFile },
  fault: Fault,
): Promise<void> {
  try {
    await fault("shown");
    await folder.sync();
    await syncParents(made);
  } finally {
    folder.close();
    old.letGo();
  }
}

/**
 * Holds the file that a change replaces or removes. The system frees the blocks of a file when nobody
 * has it open any more, and may wait for the disk meanwhile: the agent need not.
 */
class OldFile {
  #fd: number | null = null;

  hold(fd: number): void {
    // Windows replaces no open file.
    if (process.platform === "win32") closeSync(fd);
    else this.#fd = fd;
  }

  letGo(): void {
    if (this.#fd !== null) close(this.#fd, () => {});
    this.#fd = null;
  }
}

/** Makes the entries of these files durable, as far as their file systems can. */
export async function settleEntries(paths: readonly string[]): Promise<void> {
  for (const parent of new Set(paths.map((path) => dirname(path)))) {
    try {
      const { folder } = openFolder(parent);
      await folder.sync().finally(() => folder.close());
    } catch {
      // A folder that is gone has no entry.
    }
  }
}

/** Removes a temporary file that a crash left. */
export function removeTemporary(path: string, temporary: string): void {
  try {
    withFolder(dirname(path), (folder) => unlinkQuietly(folder.at(temporary)));
  } catch {
    // The folder no longer exists, so neither does the file.
  }
}

async function remove(folder: Folder, change: FileChange, old: OldFile): Promise<void> {
  await expectBefore(folder, change, old);
  unlinkSync(folder.at(basename(change.path)));
}

async function replace(
  folder: Folder,
  change: FileChange,
  after: NewFile,
  { fault, staged, old }: { fault: Fault; staged: Staged | null; old: OldFile },
): Promise<void> {
  const temporary = folder.at(change.temporary);
  // Another program's file of that name is left alone.
  let isOurs = staged !== null && staged.unnamed === null;
  try {
    const isFit = staged !== null &&
      isLike(staged.old, regularOrNothing(folder, basename(change.path)));
    if (isFit && staged.unnamed !== null) isOurs = nameFile(staged.unnamed, temporary);
    if (!isFit || !isOurs) {
      if (isOurs) unlinkSync(temporary);
      isOurs = false;
      await writeTemporary(folder, change, after);
      isOurs = true;
    }
    await fault("temporary");
    await expectBefore(folder, change, old);
    folder.check();
    renameSync(temporary, folder.at(basename(change.path)));
  } catch (error) {
    if (isOurs) unlinkQuietly(temporary);
    throw error;
  } finally {
    if (staged && staged.unnamed !== null) closeSync(staged.unnamed);
  }
}

/** Whether a file that was staged for the one would get the same owner and mode for the other. */
function isLike(one: Stats | null, other: Stats | null): boolean {
  return one?.mode === other?.mode && one?.uid === other?.uid && one?.gid === other?.gid;
}

/** Returns the old file, whose owner and mode the temporary file has. */
async function writeTemporary(
  folder: Folder,
  change: Pick<FileChange, "path" | "temporary">,
  after: NewFile,
): Promise<Stats | null> {
  const old = regularOrNothing(folder, basename(change.path));
  const temporary = folder.at(change.temporary);
  const fd = openSync(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  try {
    await fill(fd, after, old);
  } catch (error) {
    unlinkQuietly(temporary);
    throw error;
  } finally {
    closeSync(fd);
  }
  return old;
}

/** Writes the new content, with the owner and mode of the old file, and waits for the disk. */
async function fill(fd: number, { content, mode }: NewFile, old: Stats | null): Promise<void> {
  for await (const piece of piecesOf(content)) await writeAll(fd, piece);
  if (old) keepOwner(fd, old);
  fchmodSync(fd, mode ?? (old ? old.mode & 0o777 : 0o666 & ~process.umask()));
  await syncFile(fd);
}

/** Requires the state before the change, and holds its file. */
async function expectBefore(folder: Folder, change: FileChange, old: OldFile): Promise<void> {
  const held = await inspectHeld(folder, basename(change.path), 0);
  const now = held?.image ?? null;
  if (held) old.hold(held.fd);
  if ((now?.sha256 ?? null) === change.before) return;
  throw new GateError(
    "conflict",
    `Cannot change "${change.path}": it changed since the plan was made`,
    {
      fields: { expected_sha256: change.before, now_sha256: now?.sha256 ?? null },
    },
  );
}

function piecesOf(content: NewFile["content"]) {
  return content instanceof Uint8Array ? [content] : content;
}

async function writeAll(fd: number, content: Uint8Array): Promise<void> {
  for (let at = 0; at < content.length;) {
    const left = content.length - at;
    at += left <= SMALL
      ? writeSync(fd, content, at, left, null)
      : (await writePiece(fd, content, at, left, null)).bytesWritten;
  }
}

/** Keeps the owner where permitted; the set-user-id and set-group-id bits are never kept. */
function keepOwner(fd: number, old: Stats): void {
  const mine = fstatSync(fd);
  if (mine.uid === old.uid && mine.gid === old.gid) return;
  try {
    fchownSync(fd, old.uid, old.gid);
  } catch {
    // Only root may change an owner: the file then belongs to this user.
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
    // It was renamed, or never created.
  }
}
