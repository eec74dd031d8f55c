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
  /**
   * Recovery would repeat this change from what is durable already, so the commit does not wait for
   * the disk. It is durable after the next other commit, or within 100 ms.
   */
  is_derivable?: boolean;
  /**
   * For a derivable change whose conditions hold for certain: its statements may run behind the
   * caller's answer, before any later query or commit. The caller gets no rows.
   */
  is_certain?: boolean;
  /**
   * Settles when the effect that the change records is durable: the change becomes durable only then.
   * For a derivable change; it must not reject.
   */
  durable_after?: Promise<void>;
  /**
   * Called when the events are appended and the disk may not have them yet. What it begins runs while
   * the commit waits for the disk. It must not throw.
   */
  on_appended?: () => void;
}

/**
 * The rows of each statement, which a certain change does not have, and the appended events. There are
 * no events when `when` found no row.
 */
export interface Committed {
  rows: Row[][];
  events: AuditEvent[];
}

/** The machine of a home. */
export interface MachineName {
  id: string;
  /** For a person: the name of the host. */
  name: string;
}

/** This machine among those that share the ledger. */
export interface Machine {
  id: string;
  /** The sessions and events that name no machine are its own: they are from before the sharing. */
  is_first: boolean;
}

/** A machine that shares the ledger, as the others see it. */
export interface SharingMachine extends MachineName {
  version: string;
  /** The schema of the release that it ran last; 0 for a release that does not record it. */
  schema: number;
  joined_at: string;
  is_connected: boolean;
  /** The newest event that it has heard of. */
  seen_seq: number;
}

/** The answer of another machine to a request that was passed to it. */
export type PassedAnswer =
  | { body: unknown }
  | { refused: { code: string; message: string; fields: Record<string, unknown> } };

/**
 * One project's database. All changes of this process go through one queue. On a server other machines
 * may use it too.
 */
export interface Ledger {
  readonly project_id: string;
  /** This machine among those that share the ledger; null for a ledger of this home alone. */
  readonly machine: Machine | null;
  /** The newest event of the chain; seq 0 before the first. */
  readonly head: { seq: number; hash: string };
  /** The newest durable event. Only this one may be remembered outside of the ledger. */
  readonly durable: { seq: number; hash: string };
  /**
   * The rows of a query. It does not wait for the write queue, unless it reads a derived table: such a
   * query first waits until that table has every commit of now.
   */
  all(sql: string, args?: Value[]): Promise<Row[]>;
  /**
   * Calls `read` when the derived tables that `sql` names have every commit of now. No commit comes
   * between the queries that begin in that call. @throws GateError `unavailable`
   */
  caughtUp<T>(sql: string, read: () => Promise<T>): Promise<T>;
  /** Returns when the derived tables have every commit of now. @throws GateError `unavailable` */
  catchUp(): Promise<void>;
  /**
   * Commits one change, then publishes its events. It is durable, unless it is derivable.
   * @throws GateError `unavailable`
   */
  commit(change: Change): Promise<Committed>;
  /**
   * Makes every earlier commit durable, and hears of all commits of other machines until now.
   * @throws GateError `unavailable`
   */
  sync(): Promise<void>;
  /** The machines that share the ledger; empty for a ledger of this home alone. */
  listMachines(): Promise<SharingMachine[]>;
  /**
   * Passes a request to another machine that shares the ledger, which carries it out at most once.
   * "not taken": it will never carry it out. "not answered": it may have carried it out.
   * @throws GateError `unavailable`
   */
  pass(
    machine_id: string,
    request: unknown,
  ): Promise<{ answer: PassedAnswer } | { failed: "not taken" | "not answered" }>;
  close(): Promise<void>;
}
