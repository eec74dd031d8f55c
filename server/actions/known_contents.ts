import type { Environment } from "../environment.ts";
import { createGrowingCache } from "../growing_cache.ts";

/** The newest contents of a ledger. */
const MAX_KNOWN = 2_000;

/** A content that was looked up is not dropped for so long: a commit that names it may be under way. */
const USED_MS = 60 * 60 * 1_000;
/** Beyond this number the oldest are forgotten, and nothing is dropped until their time is over. */
const MAX_USED = 20_000;

/** Remembers which contents were committed, so that each is packed and inserted once. */
export class KnownContents {
  readonly #known = createGrowingCache<true>(MAX_KNOWN);
  /** When each content was looked up last, oldest first. */
  readonly #used = new Map<string, number>();
  readonly #uptime: () => number;
  /** When the newest of the forgotten contents was looked up. */
  #forgotten = -Infinity;
  #dropping: { hashes: ReadonlySet<string>; done: Promise<unknown> } | null = null;

  constructor({ uptime = () => performance.now() }: Pick<Environment, "uptime"> = {}) {
    this.#uptime = uptime;
  }

  has(sha256: string): boolean {
    return this.#known.get(sha256) === true;
  }

  /** Call it only after the commit of the statements that `keepContents` returned. */
  note(contents: readonly { sha256: string }[]): void {
    for (const { sha256 } of contents) this.#known.set(sha256, true);
  }

  /**
   * Keeps contents from being dropped while a commit that names them is under way. Call it before
   * looking whether the ledger has them.
   */
  async use(contents: readonly { sha256: string }[]): Promise<void> {
    while (this.#dropping) {
      const { hashes, done } = this.#dropping;
      if (!contents.some(({ sha256 }) => hashes.has(sha256))) break;
      await done;
    }
    const now = this.#uptime();
    for (const { sha256 } of contents) {
      this.#used.delete(sha256);
      this.#used.set(sha256, now);
    }
    for (const [sha256, at] of this.#used) {
      if (this.#isRecent(at) && this.#used.size <= MAX_USED) break;
      this.#used.delete(sha256);
      this.#forgotten = at;
    }
  }

  /** Calls `drop` with those contents that no commit uses. One call at a time. */
  async drop(
    hashes: readonly string[],
    drop: (unused: string[]) => Promise<unknown>,
  ): Promise<void> {
    const unused = hashes.filter((sha256) => !this.#isUsed(sha256));
    const done = drop(unused);
    this.#dropping = { hashes: new Set(unused), done: done.catch(() => {}) };
    try {
      await done;
    } finally {
      for (const sha256 of unused) this.#known.delete(sha256);
      this.#dropping = null;
    }
  }

  #isUsed(sha256: string): boolean {
    return this.#isRecent(this.#used.get(sha256) ?? -Infinity) || this.#isRecent(this.#forgotten);
  }

  #isRecent(at: number): boolean {
    return this.#uptime() - at <= USED_MS;
  }
}
