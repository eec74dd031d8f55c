/** A proof names a head among this many events before it: more than a busy minute has. */
export const MAX_HEADS = 65_536;

/** The newest events of a chain by their hashes, with the latest time after each. */
export class Heads {
  readonly #numbers = new Map<string, number>();
  /** Events that are later than all events after them, oldest first. */
  #latest: { number: number; at: number }[] = [];
  #count = 0;

  /** Adds the next event. `at` is its time in milliseconds. */
  note(hash: string, at: number): void {
    const number = ++this.#count;
    this.#numbers.set(hash, number);
    while ((this.#latest.at(-1)?.at ?? Infinity) <= at) this.#latest.pop();
    this.#latest.push({ number, at });
    if (this.#numbers.size <= MAX_HEADS) return;
    for (const [oldest, at] of this.#numbers) {
      this.#numbers.delete(oldest);
      if (this.#latest[0]!.number <= at) this.#latest.shift();
      break;
    }
  }

  /** The number of the newest event. */
  get newest(): number {
    return this.#count;
  }

  /** The number of an event; null if it is none of the newest ones. */
  numberOf(hash: string): number | null {
    return this.#numbers.get(hash) ?? null;
  }

  /** The latest time of the events after this number; null if there are none. */
  latestAfter(number: number): number | null {
    return this.#latest.find((one) => one.number > number)?.at ?? null;
  }
}
