import { setImmediate as pause } from "node:timers/promises";
import type { Ledger } from "../db/ledger.ts";
import { Latencies } from "./latencies.ts";
import { type Kind, listCounts, listLatencies } from "./store.ts";

/** A statement reads the counts of so many days. */
const PAGE = 31;

/** So many sums are remembered, none of them with more names than this. */
const MOST_KEPT = 32;
const MOST_NAMES = 50_000;

/** After the first day, which is left out, to now; before `open` nothing changes any more. */
export interface DaySpan {
  after: string;
  open: string;
}

export type Counts = ReadonlyMap<string, number>;

/** Sums over days: those of the days that are over, and those of the others. */
export interface Parts<T> {
  over: T;
  open: T;
}

/**
 * What happened in one ledger, summed over days. Days that are over are read once, so that a
 * summary of a long time costs no more than one of today.
 */
export class DaySums {
  readonly #ledger: Ledger;
  readonly #kept = new Map<string, unknown>();

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  /** How often each name was counted. `rolled_back` changes days that are over, so it is read anew. */
  async counts(
    kind: Kind,
    { after, open }: DaySpan,
    keyOf: KeyOf = nameOf,
  ): Promise<Parts<Counts>> {
    const read = (from: string, until: string) => this.#counts(kind, from, until, keyOf);
    if (kind === "rolled_back") return { over: new Map(), open: await read(after, LAST) };
    const over = await this.#keep(
      `${kind} ${after} ${open}`,
      () => read(after, open),
      ({ size }) => size <= MOST_NAMES,
    );
    return { over, open: await read(dayBefore(open), LAST) };
  }

  async latencies({ after, open }: DaySpan): Promise<Parts<Latencies>> {
    const over = await this.#keep(
      `latency ${after} ${open}`,
      () => this.#latencies(after, open),
      () => true,
    );
    return { over, open: await this.#latencies(dayBefore(open), LAST) };
  }

  async #keep<T>(key: string, read: () => Promise<T>, isSmall: (sums: T) => boolean): Promise<T> {
    if (this.#kept.has(key)) return this.#kept.get(key) as T;
    const sums = await read();
    if (isSmall(sums)) this.#kept.set(key, sums);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MOST_KEPT && oldest !== undefined) this.#kept.delete(oldest);
    return sums;
  }

  async #counts(kind: Kind, from: string, until: string, keyOf: KeyOf): Promise<Counts> {
    const sums = new Map<string, number>();
    const list = (after: string) => listCounts(this.#ledger, kind, { after, until, limit: PAGE });
    for await (const { day, counts } of pages(list, from)) {
      for (const [key, n] of counts) {
        const name = keyOf(key, day);
        sums.set(name, (sums.get(name) ?? 0) + n);
      }
    }
    return sums;
  }

  async #latencies(from: string, until: string): Promise<Latencies> {
    const sums = new Latencies();
    const list = (after: string) => listLatencies(this.#ledger, { after, until, limit: PAGE });
    for await (const { latencies } of pages(list, from)) latencies.forEach((one) => sums.add(one));
    return sums;
  }
}

type KeyOf = (key: string, day: string) => string;

/** After every day. */
const LAST = "~";

async function* pages<T extends { day: string }>(
  list: (after: string) => Promise<T[]>,
  from: string,
): AsyncGenerator<T> {
  for (let after = from;;) {
    const days = await list(after);
    yield* days;
    if (days.length < PAGE) return;
    after = days.at(-1)!.day;
    await pause();
  }
}

function nameOf(key: string): string {
  return key;
}

/** Sorts between the day before and the day. */
export function dayBefore(day: string): string {
  return `${new Date(Date.parse(`${day}T00:00:00Z`) - 86_400_000).toISOString().slice(0, 10)}~`;
}
