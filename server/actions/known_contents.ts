import { LRUCache } from "lru-cache";

/** The newest contents of a ledger. It never deletes one, so what it held once it still holds. */
const MAX_KNOWN = 2_000;

/** Remembers which contents were committed, so that each is packed and inserted once. */
export class KnownContents {
  readonly #known = new LRUCache<string, true>({ max: MAX_KNOWN });

  has(sha256: string): boolean {
    return this.#known.get(sha256) === true;
  }

  /** Call it only after the commit of the statements that `keepContents` returned. */
  note(contents: readonly { sha256: string }[]): void {
    for (const { sha256 } of contents) this.#known.set(sha256, true);
  }
}
