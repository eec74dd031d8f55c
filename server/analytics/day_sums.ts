import { setImmediate as pause } from "node:timers/promises";
import type { Ledger } from "../db/ledger.ts";
import { Latencies } from "./latencies.ts";
import { type Kind, listCounts, listLatencies } from "./store.ts";

/** The days that one statement reads. */
const PAGE = 31;

/** The most cached sums, and the most names in one of them. */
const MOST_KEPT = 32;
const MOST_NAMES = 50_000;

/** The days after `after` and before `end`; days before `open` no longer change. */
export interface DaySpan {
  after: string;
  open: string;
  end: string;
}

export type Counts = ReadonlyMap<string, number>;

/** Sums over closed days, and over the days that may still change. */
export interface Parts<T> {
  over: T;
  open: T;
}

/** The counts of one ledger over a range. */
export interface Sums {
  counts(kind: Kind, span: DaySpan, grouping?: Grouping): Promise<Parts<Counts>>;
  latencies(span: DaySpan): Promise<Parts<Latencies>>;
}

/**
 * The counts of one ledger, summed over days. It reads closed days once, so a summary of a long
 * window costs no more than one of today.
 */
export class DaySums implements Sums {
  readonly #ledger: Ledger;
  readonly #kept = new Map<string, unknown>();

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  /** The count of each name. `rolled_back` also changes closed days, so it is never cached. */
  async counts(
    kind: Kind,
    { after, open, end }: DaySpan,
    grouping: Grouping = BY_NAME,
  ): Promise<Parts<Counts>> {
    const { keyOf } = grouping;
    const read = (from: string, until: string) => this.#counts(kind, from, until, keyOf);
    if (kind === "rolled_back") return { over: new Map(), open: await read(after, end) };
    const closed = earlier(open, end);
    const over = await this.#keep(
      `${kind} ${grouping.name} ${after} ${closed}`,
      () => read(after, closed),
      ({ size }) => size <= MOST_NAMES,
    );
    return { over, open: await read(later(after, dayBefore(open)), end) };
  }

  async latencies({ after, open, end }: DaySpan): Promise<Parts<Latencies>> {
    const closed = earlier(open, end);
    const over = await this.#keep(
      `latency ${after} ${closed}`,
      () => this.#latencies(after, closed),
      () => true,
    );
    return { over, open: await this.#latencies(later(after, dayBefore(open)), end) };
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

/** Counts with the same new key are added up; the name tells groupings of one kind apart. */
export interface Grouping {
  name: string;
  keyOf: KeyOf;
}

/** Sorts after every day. */
export const LAST = "~";

function earlier(a: string, b: string): string {
  return a < b ? a : b;
}

function later(a: string, b: string): string {
  return a > b ? a : b;
}

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

export const BY_NAME: Grouping = { name: "name", keyOf: (key) => key };

/** A key that sorts between the day before and the day. */
export function dayBefore(day: string): string {
  return `${new Date(Date.parse(`${day}T00:00:00Z`) - 86_400_000).toISOString().slice(0, 10)}~`;
}
