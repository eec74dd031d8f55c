import {
  closeSync,
  constants,
  fdatasync,
  fstatSync,
  fsync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";

const { O_RDONLY } = constants;
// Made once: each `promisify` takes as long as handing the sync to a thread.
const syncContent = promisify(process.platform === "linux" ? fdatasync : fsync);
const O_NONBLOCK = constants.O_NONBLOCK ?? 0;

/**
 * The UTF-8 text of an untrusted regular file of at most `max_bytes`. A pipe does not block the read.
 * @throws Error, with the `code` of a system error
 */
export function readSmallFile(path: string, max_bytes: number): string {
  return new TextDecoder("utf-8", { fatal: true }).decode(readSmallBytes(path, max_bytes));
}

/** The bytes of such a file. @throws Error, with the `code` of a system error */
export function readSmallBytes(path: string, max_bytes: number): Uint8Array {
  const fd = openSync(path, O_RDONLY | O_NONBLOCK);
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile()) throw new Error(`"${path}" is not a regular file`);
    if (stats.size > max_bytes) throw new Error(`"${path}" is longer than ${max_bytes} bytes`);
    return readFileSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Makes the content of a file and its length durable; does nothing for a missing file. */
export async function syncFile(path: string): Promise<void> {
  const file = openIfThere(path);
  if (file === null) return;
  await syncContent(file).finally(() => closeSync(file));
}

/** Opened for writing, because Windows syncs no other file. */
function openIfThere(path: string): number | null {
  try {
    return openSync(path, "r+");
  } catch (error) {
    if ((error as { code?: string }).code === "ENOENT") return null;
    throw error;
  }
}

/** Replaces a file in one durable step. Keeps the mode of the old file; a new one gets `mode`. */
export function writeWhole(path: string, text: string, mode: number): void {
  const temporary = join(dirname(path), `.gate-${crypto.randomUUID()}`);
  const file = openSync(temporary, "wx", statSync(path, { throwIfNoEntry: false })?.mode ?? mode);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  try {
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}
