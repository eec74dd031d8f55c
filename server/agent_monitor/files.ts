import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

const { O_RDONLY } = constants;
// A link could lead out of the agent's folder, and a pipe would block.
const SAFELY = O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

const MOST_BYTES = 1024 * 1024;

/** Opens a regular file that an agent wrote; null for a link, for anything else and on an error. */
export async function openPlain(path: string): Promise<FileHandle | null> {
  const file = await open(path, SAFELY).catch(() => null);
  if (file === null) return null;
  const isFile = await file.stat().then((stats) => stats.isFile(), () => false);
  if (isFile) return file;
  await file.close().catch(() => {});
  return null;
}

/** The text of a small file; null if there is none or it is longer than 1 MiB. */
export async function readText(path: string): Promise<string | null> {
  const file = await openPlain(path);
  if (file === null) return null;
  try {
    const { size } = await file.stat();
    return size > MOST_BYTES ? null : (await file.readFile("utf8")).replace(/^\ufeff/, "");
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
    return text === null ? null : JSON.parse(text);
  } catch {
    return null;
  }
}
