import { toEvent } from "../db/chain.ts";
import type { Ledger, Row } from "../db/ledger.ts";
import type { AuditEvent, Checkpoint } from "./schema.ts";

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

/** What the chain says of one action, in order. */
export async function listActionEvents(ledger: Ledger, action_id: string): Promise<AuditEvent[]> {
  const rows = await ledger.all(
    "SELECT * FROM audit WHERE project_id = ? AND action_id = ? ORDER BY seq LIMIT 1000",
    [ledger.project_id, action_id],
  );
  return rows.map(toEvent);
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
