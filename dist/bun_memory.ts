import { Buffer } from "node:buffer";

/**
 * The options of Bun's allocator that say how long freed memory is kept, in milliseconds, by their
 * place in its table: `purge_delay` for whole slices, `purge_holes_min_interval` for single pages.
 * @see https://github.com/microsoft/mimalloc/blob/main/src/options.c
 */
const PURGE_DELAY = 15;
const PURGE_HOLES_MIN_INTERVAL = 52;
const THEIRS_MS = 100;

/**
 * Between two writes of an agent much of the memory was given back to the system and fetched again,
 * which took a tenth of the time of a write.
 */
const OURS_MS = 5_000;

/** The bytes of one option: value, state, place in the table, and two names. */
const ENTRY = 32;
/** So many options in a row with their own place tell the table from other bytes. */
const ROW = PURGE_HOLES_MIN_INTERVAL + 1;

/**
 * Returns a copy of Bun that keeps freed memory for five seconds before it gives it back to the
 * system. @throws Error when Bun has no such table of options, or has two
 */
export function withLaterPurge(bun: Uint8Array): Uint8Array {
  const changed = Buffer.from(bun);
  const [table, ...others] = [8, 4].flatMap((width) => findTables(changed, width));
  if (table === undefined || others.length > 0) throw changedBun();
  for (const place of [PURGE_DELAY, PURGE_HOLES_MIN_INTERVAL]) {
    const at = table + place * ENTRY;
    if (changed.readInt32LE(at) !== THEIRS_MS) throw changedBun();
    changed.writeInt32LE(OURS_MS, at);
  }
  return changed;
}

/** The tables whose values have `width` bytes: a `long` has four on Windows, eight elsewhere. */
function findTables(bun: Buffer, width: number): number[] {
  const tables: number[] = [];
  const entry = Buffer.alloc(width + 8);
  entry.writeInt32LE(THEIRS_MS);
  entry.writeInt32LE(PURGE_DELAY, width + 4);
  for (let at = bun.indexOf(entry); at !== -1; at = bun.indexOf(entry, at + 1)) {
    const table = at - PURGE_DELAY * ENTRY;
    if (table >= 0 && isTable(bun, table, width)) tables.push(table);
  }
  return tables;
}

/** Whether each entry has its place and has not been read from the environment yet. */
function isTable(bun: Buffer, table: number, width: number): boolean {
  if (table + ROW * ENTRY > bun.length) return false;
  for (let place = 0; place < ROW; place++) {
    const at = table + place * ENTRY + width;
    if (bun.readInt32LE(at) !== 0 || bun.readInt32LE(at + 4) !== place) return false;
  }
  return true;
}

function changedBun(): Error {
  return new Error("Cannot change when Bun gives memory back: Bun has changed; read its sources");
}
