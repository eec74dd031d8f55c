import { setImmediate } from "node:timers/promises";
import { HASH } from "../db/blobs.ts";
import type { Ledger } from "../db/ledger.ts";
import { HashSet } from "./hash_set.ts";
import {
  firstEventSince,
  listActionsOf,
  listNamed,
  listUnsettled,
  listUnstarted,
  type Named,
} from "./store.ts";

/** Events, or actions, of one statement, during which nothing else runs: an action may have 1 MiB. */
const PAGE = 20;

/**
 * The contents that must stay: those that an unsettled action names anywhere in its row, or an action
 * with an event since a time, or the action that one of these rolls back or replays.
 */
export class Needed {
  readonly #ledger: Ledger;
  readonly #hashes = new HashSet();
  /** The last event whose action was read. */
  #seq: number;

  private constructor(ledger: Ledger, seq: number) {
    this.#ledger = ledger;
    this.#seq = seq;
  }

  static async since(ledger: Ledger, at: string): Promise<Needed> {
    const { seq } = ledger.head;
    const needed = new Needed(ledger, (await firstEventSince(ledger, at) ?? seq + 1) - 1);
    for (const list of [listUnsettled, listUnstarted]) {
      for (let after = 0, size = PAGE; size === PAGE;) {
        const page = await list(ledger, after, PAGE);
        await needed.#add(page);
        size = page.length;
        after = page.at(-1)?.seq ?? after;
        await setImmediate();
      }
    }
    await needed.follow();
    return needed;
  }

  /** Reads the events that came meanwhile. When it returns, it knows every event of the chain. */
  async follow(): Promise<void> {
    while (this.#seq < this.#ledger.head.seq) {
      const last = Math.min(this.#seq + PAGE, this.#ledger.head.seq);
      const ids = await listActionsOf(this.#ledger, { first: this.#seq + 1, last });
      await this.#add(await listNamed(this.#ledger, ids));
      this.#seq = last;
      await setImmediate();
    }
  }

  has(sha256: string): boolean {
    return this.#hashes.has(sha256);
  }

  async #add(rows: readonly Named[]): Promise<void> {
    const earlier = rows.flatMap((row) => row.earlier ?? []);
    const more = earlier.length > 0 ? await listNamed(this.#ledger, earlier) : [];
    for (const { texts } of [...rows, ...more]) {
      for (const [hash] of texts.matchAll(HASH)) this.#hashes.add(hash);
    }
  }
}
