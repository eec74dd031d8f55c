import { setImmediate as pause } from "node:timers/promises";
import { DEFAULT_LIMIT, readCursor } from "../db/cursor.ts";
import type { Ledger } from "../db/ledger.ts";
import type { AuditEvent } from "../evidence/schema.ts";
import type { AuditEventList, AuditEventsQuery } from "./schema.ts";
import { type EventFilter, type EventKey, findTime, isWanted, listRecent } from "./store.ts";

/** The events that one statement reads, and the most that one request looks at. */
const STRIDE = 200;
const MOST_LOOKED_AT = 20_000;
/** Sorts after every time. */
const LAST = "~";

/**
 * The newest events that match, in pages. A page ends early after many events that do not match.
 * @throws GateError `invalid` for a bad cursor, `unavailable` for a damaged event
 */
export async function listRecentEvents(
  ledger: Ledger,
  { limit = DEFAULT_LIMIT, cursor, ...filter }: AuditEventsQuery & EventFilter,
): Promise<AuditEventList> {
  const found: AuditEvent[] = [];
  let before = await startOf(ledger, filter, readCursor(cursor));
  for (let looked = 0; looked < MOST_LOOKED_AT; looked += STRIDE) {
    const events = await listRecent(ledger, filter, { before, limit: STRIDE });
    found.push(...events.filter((event) => isWanted(event, filter)));
    if (found.length > limit) return pageOf(found.slice(0, limit));
    if (events.length < STRIDE) return { items: found, next_cursor: null };
    before = events.at(-1)!;
    await pause();
  }
  return { items: found, next_cursor: String(before.seq) };
}

function pageOf(items: AuditEvent[]): AuditEventList {
  return { items, next_cursor: String(items.at(-1)!.seq) };
}

async function startOf(ledger: Ledger, { to }: EventFilter, seq: number): Promise<EventKey> {
  if (seq === Number.MAX_SAFE_INTEGER) return { at: to ?? LAST, seq: to === undefined ? seq : 0 };
  return { at: await findTime(ledger, seq) ?? LAST, seq };
}
