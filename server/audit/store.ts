import { toEvent } from "../db/chain.ts";
import type { Ledger, Row, Value } from "../db/ledger.ts";
import type { AuditEvent, AuditExportQuery, Checkpoint } from "./schema.ts";

/** The raw rows after `seq`, in order, as they stand in the database. */
export function listRows(ledger: Ledger, seq: number, limit: number): Promise<Row[]> {
  return ledger.all(
    "SELECT * FROM audit WHERE project_id = ? AND seq > ? ORDER BY seq LIMIT ?",
    [ledger.project_id, seq, limit],
  );
}

/** The events after `seq`, in order. */
export async function listEvents(
  ledger: Ledger,
  seq: number,
  limit: number,
): Promise<AuditEvent[]> {
  return (await listRows(ledger, seq, limit)).map(toEvent);
}

/** Every checkpoint, in order. */
export async function listCheckpoints(ledger: Ledger): Promise<Checkpoint[]> {
  const rows = await ledger.all(
    "SELECT * FROM checkpoints WHERE project_id = ? ORDER BY seq",
    [ledger.project_id],
  );
  return rows as unknown as Checkpoint[];
}

/** The checkpoint of one event, if it has one. */
export async function findCheckpoint(ledger: Ledger, seq: number): Promise<Checkpoint | null> {
  const rows = await ledger.all(
    "SELECT * FROM checkpoints WHERE project_id = ? AND seq = ?",
    [ledger.project_id, seq],
  );
  return (rows[0] ?? null) as unknown as Checkpoint | null;
}

/** Which events are wanted. */
export type EventFilter = Pick<
  AuditExportQuery,
  "from" | "to" | "type" | "session_id" | "action_id"
>;

/** Where a page of events goes on. */
export type EventKey = Pick<AuditEvent, "at" | "seq">;

/**
 * At most `limit` events after `after`, and up to `last` in the order of numbers: by the most telling filter, in the order of its index, so
 * that no page reads more rows than it gives. The caller looks at the other filters.
 */
export async function listFiltered(
  ledger: Ledger,
  filter: EventFilter,
  { after, last, limit }: { after: EventKey; last: number; limit: number },
): Promise<AuditEvent[]> {
  const { where, args, order } = driverOf(filter, after, last);
  const rows = await ledger.all(
    `SELECT * FROM audit WHERE project_id = ? AND ${where} ORDER BY ${order} LIMIT ?`,
    [ledger.project_id, ...args, limit],
  );
  return rows.map(toEvent);
}

function driverOf(
  filter: EventFilter,
  after: EventKey,
  last: number,
): { where: string; args: Value[]; order: string } {
  for (const name of ["action_id", "session_id", "type"] as const) {
    const value = filter[name];
    if (value === undefined) continue;
    const args = [value, after.seq, last];
    return { where: `${name} = ? AND seq > ? AND seq <= ?`, args, order: "seq" };
  }
  if (filter.from === undefined && filter.to === undefined) {
    return { where: "seq > ? AND seq <= ?", args: [after.seq, last], order: "seq" };
  }
  const until = filter.to ?? "9999";
  return {
    where: "(at, seq) > (?, ?) AND at < ?",
    args: [after.at, after.seq, until],
    order: "at, seq",
  };
}
