import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, open, readdir } from "node:fs/promises";
import { LRUCache } from "lru-cache";
import { parseJson } from "./parse_json.ts";

const { O_RDONLY } = constants;
// A link could lead out of the agent's folder, and a pipe would block.
const SAFELY = O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

const MOST_BYTES = 1024 * 1024;

/** An open file, and what it was when it was opened. */
export interface PlainFile {
  file: FileHandle;
  stats: Stats;
}

/** Opens a regular file that an agent wrote; null for a link, for anything else and on an error. */
export async function openPlain(path: string): Promise<PlainFile | null> {
  const file = await open(path, SAFELY).catch(() => null);
  if (file === null) return null;
  const stats = await file.stat().catch(() => null);
  if (stats?.isFile()) return { file, stats };
  await file.close().catch(() => {});
  return null;
}

/** A file that changed this shortly before it was read may change again at the same time. */
const SETTLED_MS = 1_000;

interface Kept {
  state: string;
  text: string;
}

/** The small files that were read, so that an unchanged one is not opened again. */
const kept = new LRUCache<string, Kept>({
  max: 1_000,
  maxSize: 8 * MOST_BYTES,
  sizeCalculation: ({ text }) => text.length + 1,
});

/** The text of a small file; null if there is none or it is longer than 1 MiB. */
export async function readText(path: string): Promise<string | null> {
  const before = await lstat(path).catch(() => null);
  if (before === null) return null;
  const state = stateOf(before);
  const known = kept.get(path);
  if (known?.state === state) return known.text;
  const text = await readAnew(path);
  const isSettled = Date.now() - before.mtimeMs > SETTLED_MS;
  if (text !== null && isSettled) kept.set(path, { state, text });
  else kept.delete(path);
  return text;
}

/** The names in the folders that were read, so that an unchanged one is not read again. */
const listed = new LRUCache<string, { state: string; names: ReadonlySet<string> }>({
  max: 200,
  maxSize: 100_000,
  sizeCalculation: ({ names }) => names.size + 1,
});

/** The names in a folder, sorted, because runtimes differ in their order; none if it cannot be read. */
export async function listNames(folder: string): Promise<string[]> {
  return (await readdir(folder).catch(() => [])).sort();
}

/** The same names as a set, which is not read again while the folder is unchanged. */
export async function readNames(folder: string): Promise<ReadonlySet<string>> {
  const before = await lstat(folder).catch(() => null);
  if (before === null) return new Set();
  const state = stateOf(before);
  const known = listed.get(folder);
  if (known?.state === state) return known.names;
  const names = new Set(await listNames(folder));
  if (Date.now() - before.mtimeMs > SETTLED_MS) listed.set(folder, { state, names });
  else listed.delete(folder);
  return names;
}

/** Tells whether a file has changed. */
export function stateOf({ dev, ino, size, mtimeMs, ctimeMs }: Stats): string {
  return `${dev}:${ino} ${size} ${mtimeMs} ${ctimeMs}`;
}

async function readAnew(path: string): Promise<string | null> {
  const opened = await openPlain(path);
  if (opened === null) return null;
  const { file, stats: { size } } = opened;
  try {
    if (size > MOST_BYTES) return null;
    // The part by which one of these grew meanwhile is read the next time.
    const { buffer, bytesRead } = await file.read(new Uint8Array(size), 0, size, 0);
    return Buffer.from(buffer.buffer, 0, bytesRead).toString("utf8").replace(/^\ufeff/, "");
  } catch {
    return null;
  } finally {
    await file.close().catch(() => {});
  }
}

/** The JSON of a small file; null if there is none or it is damaged. */
export async function readJson(path: string): Promise<unknown> {
  const text = await readText(path);
  try {
    return text === null ? null : parseJson(text);
  } catch {
    return null;
  }
}
