/** A map whose copies share its entries until one of them changes. */
export class SharedMap<V> {
  #entries: Map<string, V> = EMPTY;
  #is_shared = true;

  /** A copy that costs the same whatever the map holds. */
  copy(): SharedMap<V> {
    const copy = new SharedMap<V>();
    copy.#entries = this.#entries;
    this.#is_shared = true;
    return copy;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): V | undefined {
    return this.#entries.get(key);
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  keys(): Iterable<string> {
    return this.#entries.keys();
  }

  values(): Iterable<V> {
    return this.#entries.values();
  }

  [Symbol.iterator](): IterableIterator<[string, V]> {
    return this.#entries[Symbol.iterator]();
  }

  set(key: string, value: V): void {
    this.#own().set(key, value);
  }

  delete(key: string): void {
    if (this.#entries.has(key)) this.#own().delete(key);
  }

  /** Whether neither of two copies has changed since they were one. */
  shares(other: SharedMap<V>): boolean {
    return this.#entries === other.#entries;
  }

  /** The entries, copied first if another map has them too. */
  #own(): Map<string, V> {
    if (this.#is_shared) {
      this.#entries = new Map(this.#entries);
      this.#is_shared = false;
    }
    return this.#entries;
  }
}

// deno-lint-ignore no-explicit-any
const EMPTY: Map<string, any> = new Map();
