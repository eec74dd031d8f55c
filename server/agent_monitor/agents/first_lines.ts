import { LRUCache } from "lru-cache";
import { openPlain } from "../files.ts";
import { objectOf } from "./agent.ts";

/** A first line may hold long instructions; what is needed stands at its beginning. */
const MOST_BYTES = 256 * 1024;

/** Remembers the first lines of records, which do not change. */
export class FirstLines {
  readonly #known = new LRUCache<string, Record<string, unknown>>({ max: 1_000 });

  /** The first line of a record as JSON; null while it is incomplete, and for a damaged one. */
  async of(path: string): Promise<Record<string, unknown> | null> {
    const known = this.#known.get(path);
    if (known) return known;
    const file = await openPlain(path);
    if (file === null) return null;
    try {
      const { buffer, bytesRead } = await file.read(new Uint8Array(MOST_BYTES), 0, MOST_BYTES, 0);
      const text = Buffer.from(buffer.buffer, 0, bytesRead).toString("utf8").replace(/^\ufeff/, "");
      const end = text.indexOf("\n");
      if (end < 0) return null;
      const line = objectOf(JSON.parse(text.slice(0, end)));
      this.#known.set(path, line);
      return line;
    } catch {
      return null;
    } finally {
      await file.close().catch(() => {});
    }
  }
}
