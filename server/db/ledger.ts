import type { AuditEvent } from "../evidence/schema.ts";

/** A value that libSQL binds or returns. */
export type Value = string | number | bigint | null | Uint8Array;
export type Row = Record<string, Value>;

/** One SQL statement with its arguments. */
export interface Statement {
  sql: string;
  args: Value[];
}

/** An audit event before it has a number and a hash. */
export type NewEvent = Pick<AuditEvent, "session_id" | "action_id" | "type" | "actor" | "data">;

/** One state change, committed in one batch. */
export interface Change {
  /** They carry their own preconditions: an UPDATE whose precondition fails changes no row. */
  statements: Statement[];
  /** Appended to the chain in the same batch, after the statements. */
  events: NewEvent[];
  /** The events are appended only if this query finds a row (`SELECT 1 FROM … WHERE …`). */
  when?: Statement;
}

/** The rows of each statement, and the appended events: none when `when` found no row. */
export interface Committed {
  rows: Row[][];
  events: AuditEvent[];
}

/** One project's database, owned by this process. All changes go through one queue. */
export interface Ledger {
  readonly project_id: string;
  /** The newest event of the chain; seq 0 before the first. */
  readonly head: { seq: number; hash: string };
  /** The rows of a query; it does not wait for the write queue. */
  all(sql: string, args?: Value[]): Promise<Row[]>;
  /** Commits one change durably, then publishes its events. @throws GateError `unavailable` */
  commit(change: Change): Promise<Committed>;
  close(): Promise<void>;
}
