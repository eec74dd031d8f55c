import { GateError } from "../errors.ts";

/** Rows per page where the caller does not say. */
export const DEFAULT_LIMIT = 50;

/** The sequence number that a cursor stands for: the page goes on below it. */
export function readCursor(cursor: string | undefined): number {
  if (cursor === undefined) return Number.MAX_SAFE_INTEGER;
  if (!/^[1-9][0-9]{0,14}$/.test(cursor)) {
    throw new GateError("invalid", 'Cannot read the list: "cursor" is not one that a page gave');
  }
  return Number(cursor);
}

/** A page of at most `limit`, from one row more than that, and the cursor of the next one. */
export function toPage<T extends { seq: number }>(
  rows: T[],
  limit: number,
): { items: T[]; next_cursor: string | null } {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return { items, next_cursor: rows.length > limit && last ? String(last.seq) : null };
}
