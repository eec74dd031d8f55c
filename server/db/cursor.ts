import { GateError } from "../errors.ts";

/** The default number of rows per page. */
export const DEFAULT_LIMIT = 50;

/** The sequence number in a cursor: the page contains lower ones. @throws GateError `invalid` */
export function readCursor(cursor: string | undefined): number {
  if (cursor === undefined) return Number.MAX_SAFE_INTEGER;
  if (!/^[1-9][0-9]{0,14}$/.test(cursor)) {
    throw new GateError(
      "invalid",
      'Cannot read the list: "cursor" must be the next_cursor of a page',
    );
  }
  return Number(cursor);
}

/** A page of at most `limit` rows, made from `limit` + 1, and the cursor of the next page. */
export function toPage<T extends { seq: number }>(
  rows: T[],
  limit: number,
): { items: T[]; next_cursor: string | null } {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return { items, next_cursor: rows.length > limit && last ? String(last.seq) : null };
}
