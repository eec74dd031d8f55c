import { LRUCache } from "lru-cache";

/**
 * A cache that forgets what was used longest ago beyond `most` entries, and each entry `ttl` ms after
 * it was set. It takes memory as entries come: told `max`, LRUCache takes all of it at once, which is
 * a millisecond for ten thousand entries.
 */
export function createGrowingCache<V extends object | string | number | boolean>(
  most: number,
  ttl?: number,
): LRUCache<string, V> {
  return new LRUCache({ maxSize: most, sizeCalculation: () => 1, ...ttl !== undefined && { ttl } });
}
