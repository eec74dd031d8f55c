import { type BigIntStats, readdirSync, statfsSync } from "node:fs";
import { LRUCache } from "lru-cache";

/** The names in a folder; none if it cannot be read. */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** The file systems of Linux on which each change of a folder's names changes its change time. */
const KEEPS_TIMES = new Set([0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630, 0x2fc12fc1]);

/** Two changes within this time may have the same change time: some clocks count seconds. */
const SETTLED_MS = 2_000;
const MAX_NAMES = 50_000;

interface Known {
  state: string;
  names: string[];
}

const KNOWN = new LRUCache<string, Known>({
  maxSize: MAX_NAMES,
  sizeCalculation: ({ names }) => names.length + 1,
});

/**
 * The names in a folder, read again only if its change time differs. No program can set that time.
 * `stats` are those of the folder, taken before this call and after `now`, in milliseconds.
 */
export function knownNamesIn(folder: string, stats: BigIntStats, now: number): readonly string[] {
  const { dev, ino, mtimeNs, ctimeNs, ctimeMs } = stats;
  const state = `${dev} ${ino} ${mtimeNs} ${ctimeNs}`;
  const known = KNOWN.get(folder);
  if (known?.state === state) return known.names;
  const names = namesIn(folder);
  if (now - Number(ctimeMs) > SETTLED_MS && keepsTimes(folder)) KNOWN.set(folder, { state, names });
  else KNOWN.delete(folder);
  return names;
}

function keepsTimes(folder: string): boolean {
  try {
    return KEEPS_TIMES.has(statfsSync(folder).type);
  } catch {
    return false;
  }
}
