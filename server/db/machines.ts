import { VERSION } from "../constants.ts";
import type { LedgerDatabase } from "./database.ts";
import type {
  Ledger,
  Machine,
  MachineName,
  NewEvent,
  Row,
  SharingMachine,
  Statement,
  Value,
} from "./ledger.ts";

/** The table of the machines that share a ledger. A move copies it apart from the ledger. */
export const MACHINES = "machines";

/** A machine that was seen within this time uses the ledger now. */
export const CONNECTED_S = 15;

export const CREATE_MACHINES = `CREATE TABLE IF NOT EXISTS ${MACHINES} (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  is_first INTEGER NOT NULL,
  version TEXT NOT NULL,
  joined_at TEXT NOT NULL,
  left_at TEXT,
  opened_by TEXT NOT NULL DEFAULT '',
  seen_at INTEGER NOT NULL DEFAULT 0,
  seen_seq INTEGER NOT NULL DEFAULT 0
) STRICT`;

/** Statements that make the list of the machines, with this one, unless there is one. */
export function addFirstMachine({ id, name }: MachineName, at: string): Statement[] {
  return [plain(CREATE_MACHINES), {
    sql: `INSERT INTO ${MACHINES} (id, name, is_first, version, joined_at) SELECT ?, ?, 1, ?, ?
      WHERE NOT EXISTS (SELECT 1 FROM ${MACHINES})`,
    args: [id, name, VERSION, at],
  }];
}

/** A new name for an opening of a ledger. It begins with the schema; older releases wrote none. */
export function nameOpening(schema: number): string {
  return `${schema} ${crypto.randomUUID()}`;
}

/** A statement after which only this opening by the machine may commit. */
export function noteOpened({ id, name }: MachineName, opened_by: string): Statement {
  return {
    sql: `UPDATE ${MACHINES} SET name = ?, version = ?, opened_by = ?, seen_at = unixepoch()
      WHERE id = ? AND left_at IS NULL`,
    args: [name, VERSION, opened_by, id],
  };
}

/** A statement that adds a machine, or lets one return that has left. */
export function addMachine({ id, name }: MachineName, at: string): Statement {
  return {
    sql: `INSERT INTO ${MACHINES} (id, name, is_first, version, joined_at)
      VALUES (?, ?, 0, ?, ?) ON CONFLICT DO UPDATE SET name = excluded.name, version = excluded.version,
        joined_at = excluded.joined_at, left_at = NULL`,
    args: [id, name, VERSION, at],
  };
}

/** A statement after which the machine no longer shares the ledger. */
export function removeMachine(id: string, at: string): Statement {
  return {
    sql: `UPDATE ${MACHINES} SET left_at = ?, opened_by = '', seen_at = 0 WHERE id = ?`,
    args: [at, id],
  };
}

/** A statement after which no other machine shares the ledger. */
export function removeOthers(id: string, at: string): Statement {
  return {
    sql: `UPDATE ${MACHINES} SET left_at = ?, opened_by = '', seen_at = 0
      WHERE id <> ? AND left_at IS NULL`,
    args: [at, id],
  };
}

/** Notes that the machine is connected and how far it has heard. The server's clock counts. */
export function noteSeen(id: string, seq: number): Statement {
  return {
    sql: `UPDATE ${MACHINES} SET seen_at = unixepoch(), seen_seq = ? WHERE id = ?`,
    args: [seq, id],
  };
}

/** Notes that the machine has closed the ledger. */
export function noteGone(id: string): Statement {
  return { sql: `UPDATE ${MACHINES} SET seen_at = 0 WHERE id = ?`, args: [id] };
}

/** SQL for the name of a machine, with the beginning of its id where several hosts have that name. */
export const SHOWN_NAME = `CASE
  WHEN (SELECT count(*) FROM ${MACHINES} AS others WHERE others.name = ${MACHINES}.name) > 1
  THEN ${MACHINES}.name || ' (' || substr(${MACHINES}.id, 1, 8) || ')' ELSE ${MACHINES}.name END`;

/** The machines that share the ledger, the first one first. */
export async function listMachines(
  database: Pick<LedgerDatabase, "all">,
): Promise<SharingMachine[]> {
  const rows = await database.all(
    `SELECT id, ${SHOWN_NAME} AS name, version, joined_at, opened_by, seen_seq,
      seen_at > unixepoch() - ? AS is_connected
      FROM ${MACHINES} WHERE left_at IS NULL ORDER BY rowid`,
    [CONNECTED_S],
  );
  return rows.map((row) => ({
    id: String(row.id),
    name: String(row.name),
    version: String(row.version),
    schema: Number(/^(\d+) /.exec(String(row.opened_by))?.[1] ?? 0),
    joined_at: String(row.joined_at),
    is_connected: row.is_connected === 1,
    seen_seq: Number(row.seen_seq),
  }));
}

/** Whether the database lists machines: a ledger that never was on a server does not. */
export async function hasMachines(database: Pick<LedgerDatabase, "all">): Promise<boolean> {
  const found = await database.all("SELECT 1 FROM sqlite_schema WHERE name = ?", [MACHINES]);
  return found.length > 0;
}

/** This machine among those of the ledger; null if it is none of them. */
export async function findMachine(
  database: Pick<LedgerDatabase, "all">,
  id: string,
): Promise<Machine | null> {
  const [row] = await database.all(
    `SELECT is_first FROM ${MACHINES} WHERE id = ? AND left_at IS NULL`,
    [id],
  );
  return row ? { id, is_first: row.is_first === 1 } : null;
}

/**
 * Copies the list of the machines, of which only this one goes on with the copy. A ledger that no
 * other machine ever used needs no list.
 */
export async function carryMachines(
  source: Pick<LedgerDatabase, "all">,
  target: Pick<LedgerDatabase, "batch">,
  { own, at }: { own: string; at: string },
): Promise<void> {
  if (!await hasMachines(source)) return;
  const rows = await source.all(
    `SELECT id, name, is_first, version, joined_at, left_at FROM ${MACHINES}`,
  );
  if (rows.every(({ id }) => id === own)) return;
  await target.batch([plain(CREATE_MACHINES), ...rows.map((row) => carry(row, own, at))]);
}

function carry({ id, name, is_first, version, joined_at, left_at }: Row, own: string, at: string) {
  return {
    sql: `INSERT INTO ${MACHINES} (id, name, is_first, version, joined_at, left_at)
      VALUES (?, ?, ?, ?, ?, ?)`,
    args: [id!, name!, is_first!, version!, joined_at!, id === own ? null : left_at ?? at],
  };
}

/** The events that concern the machine on which they came to be: its configs and its lists. */
const OWN_EVENTS = /^(?:policy|member|route)\./;

/** The event, with the machine in it if other machines must not take it for their own. */
export function stamped(event: NewEvent, machine: Machine | null): NewEvent {
  if (machine === null || !OWN_EVENTS.test(event.type)) return event;
  return { ...event, data: { ...event.data, machine: machine.id } };
}

/** Whether the data of such an event are this machine's. */
export function isOwnEvent(machine: Machine | null, data: Record<string, unknown>): boolean {
  return machine === null ||
    (data.machine ?? (machine.is_first ? machine.id : null)) === machine.id;
}

/** SQL that is true for such an event of this machine, in a table with `data`. */
export function ownEvents(machine: Machine | null): { sql: string; args: Value[] } {
  if (machine === null) return { sql: "", args: [] };
  return {
    sql: " AND coalesce(data ->> '$.machine', ?) = ?",
    args: [machine.is_first ? machine.id : "", machine.id],
  };
}

/**
 * SQL that is true for a session of this machine, by the column with its machine. Empty where no
 * other machine has any.
 */
export function ownSessions({ machine }: Pick<Ledger, "machine">): string {
  return machine === null ? "" : ` AND ${isOwnColumn(machine)}`;
}

/** SQL that is true for an action of a session of this machine. */
export function ownActions({ machine }: Pick<Ledger, "machine">): string {
  if (machine === null) return "";
  return ` AND (SELECT ${isOwnColumn(machine)} FROM sessions
    WHERE sessions.project_id = actions.project_id AND sessions.id = actions.session_id)`;
}

function isOwnColumn({ id, is_first }: Machine): string {
  if (!UUID.test(id)) throw new Error("the id of a machine is no UUID");
  return is_first ? `coalesce(sessions.machine, '${id}') = '${id}'` : `sessions.machine IS '${id}'`;
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function plain(sql: string): Statement {
  return { sql, args: [] };
}
