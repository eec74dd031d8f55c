import type { FileHandle } from "node:fs/promises";
import { createGrowingCache } from "../../growing_cache.ts";
import { openPlain } from "../files.ts";
import { parseJson } from "../parse_json.ts";
import { objectOf } from "./agent.ts";

/** A first line may hold long instructions; what is needed stands at its beginning. */
const MOST_BYTES = 256 * 1024;
const CHUNK_BYTES = 16 * 1024;
const NEWLINE = 10;

/** Remembers the first lines of records, which do not change. */
export class FirstLines {
  readonly #known = createGrowingCache<Record<string, unknown>>(1_000);

  /** The first line of a record as JSON; null while it is incomplete, and for a damaged one. */
  async of(path: string): Promise<Record<string, unknown> | null> {
    const known = this.#known.get(path);
    if (known) return known;
    const opened = await openPlain(path);
    if (opened === null) return null;
    const { file } = opened;
    try {
      const text = await firstLineOf(file);
      if (text === null) return null;
      const line = objectOf(parseJson(text.replace(/^\ufeff/, "")));
      this.#known.set(path, line);
      return line;
    } catch {
      return null;
    } finally {
      await file.close().catch(() => {});
    }
  }
}

/** The first line of the file; null if it does not end within the limit. */
async function firstLineOf(file: FileHandle): Promise<string | null> {
  const parts: Buffer[] = [];
  for (let at = 0; at < MOST_BYTES; at += CHUNK_BYTES) {
    const chunk = Buffer.alloc(CHUNK_BYTES);
    const { bytesRead } = await file.read(chunk, 0, CHUNK_BYTES, at);
    const end = chunk.subarray(0, bytesRead).indexOf(NEWLINE);
    if (end >= 0) return Buffer.concat([...parts, chunk.subarray(0, end)]).toString("utf8");
    if (bytesRead < CHUNK_BYTES) return null;
    parts.push(chunk);
  }
  return null;
}
