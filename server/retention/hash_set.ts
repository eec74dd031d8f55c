/** So many digits of a hash are exact in a double. */
const DIGITS = 13;
const FIRST_SIZE = 8;

/**
 * A set of SHA-256 hashes in 8 bytes each. It knows the first 52 bits of each, so `has` may be true for
 * another hash: one in a billion for a million hashes.
 */
export class HashSet {
  readonly #buckets = Array.from({ length: 256 }, () => new Bucket());

  add(hash: string): void {
    this.#bucketOf(hash).add(keyOf(hash));
  }

  has(hash: string): boolean {
    return this.#bucketOf(hash).has(keyOf(hash));
  }

  #bucketOf(hash: string): Bucket {
    return this.#buckets[parseInt(hash.slice(0, 2), 16)]!;
  }
}

function keyOf(hash: string): number {
  return parseInt(hash.slice(0, DIGITS), 16);
}

/** Small enough to be sorted without holding the event loop. */
class Bucket {
  #keys = new Float64Array(FIRST_SIZE);
  #length = 0;
  #isSorted = true;

  add(key: number): void {
    if (this.#length === this.#keys.length) {
      const grown = new Float64Array(2 * this.#length);
      grown.set(this.#keys);
      this.#keys = grown;
    }
    this.#keys[this.#length++] = key;
    this.#isSorted = false;
  }

  has(key: number): boolean {
    if (!this.#isSorted) this.#keys.subarray(0, this.#length).sort();
    this.#isSorted = true;
    let [low, high] = [0, this.#length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#keys[middle]! < key) low = middle + 1;
      else high = middle;
    }
    return low < this.#length && this.#keys[low] === key;
  }
}
