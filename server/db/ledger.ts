import type { AuditEvent } from "../evidence/schema.ts";

/** What libSQL binds and returns. */
export type Value = string | number | bigint | null | Uint8Array;
export type Row = Record<string, Value>;

/** One SQL statement with its arguments. */
export interface Statement {
  sql: string;
  args: Value[];
}

/** An audit event before it has a place in the chain. */
export type NewEvent = Pick<AuditEvent, "session_id" | "action_id" | "type" | "actor" | "data">;

/** One state change: everything in it happens in one batch, or nothing does. */
export interface Change {
  /** Carry their own conditions; a loser's UPDATE touches no row. */
  statements: Statement[];
  /** Appended to the chain in the same batch, after the statements have run. */
  events: NewEvent[];
  /** The events are appended only where this finds a row (`SELECT 1 FROM … WHERE …`). */
  when?: Statement;
}

/** What a change did: the rows of each statement, and the events (none when `when` found nothing). */
export interface Committed {
  rows: Row[][];
  events: AuditEvent[];
}

/** One project's database, owned by this process. Every change goes through one queue. */
export interface Ledger {
  readonly project_id: string;
  /** The newest event of the chain; seq 0 before the first. */
  readonly head: { seq: number; hash: string };
  /** Rows of a read; never waits for the write queue. */
  all(sql: string, args?: Value[]): Promise<Row[]>;
  /** Commits one change durably and then publishes its events. @throws GateError `unavailable` */
  commit(change: Change): Promise<Committed>;
  close(): Promise<void>;
}
