import { toEvent } from "../db/chain.ts";
import type { Ledger, Row, Value } from "../db/ledger.ts";
import { COMMON_TYPES, RARE } from "../db/ledger_migrations.ts";
import { textOf } from "../db/texts.ts";
import { GateError } from "../errors.ts";
import { CSV_LINE, CSV_VALUES } from "./csv.ts";
import type { AuditExportQuery } from "./schema.ts";
import type { AuditEvent, Checkpoint } from "../evidence/schema.ts";

const TEXTS = ["at", "session_id", "action_id", "type", "actor", "data", "prev_hash", "hash"];

/**
 * Reads the texts of a row as the bytes of one JSON array. libSQL ends the process for a text that is
 * not UTF-8, and separate bytes for each text would need far more memory.
 */
const STORED = `seq, CAST(json_array(${TEXTS.join(", ")}) AS BLOB) AS texts`;

/**
 * At most `limit` rows after `place`, in the order of writing. They come from the table itself, because
 * an index contains copies of some columns that a check must not read.
 */
export function listStored(ledger: Ledger, place: number, limit: number): Promise<Row[]> {
  return ledger.all(
    `SELECT rowid AS place, ${STORED} FROM audit NOT INDEXED
      WHERE rowid > ? AND project_id = ? ORDER BY rowid LIMIT ?`,
    [place, ledger.project_id, limit],
  );
}

/** The row with its texts decoded. @throws TypeError for a text that is not UTF-8 */
export function decodeStored({ project_id }: Ledger, { seq = null, texts }: Row): Row {
  const text = UTF8.decode(texts as Uint8Array);
  const values = JSON.parse(text) as (string | null)[];
  const row = Object.fromEntries(TEXTS.map((name, at) => [name, values[at] ?? null]));
  return { seq, project_id, ...row };
}

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** @throws GateError `unavailable` when an event is damaged */
async function readEvents(
  ledger: Ledger,
  where: string,
  args: Value[],
  from = "audit",
): Promise<AuditEvent[]> {
  const { project_id } = ledger;
  const sql = `SELECT ${STORED} FROM ${from} WHERE project_id = ? AND ${where}`;
  const rows = await ledger.all(sql, [project_id, ...args]);
  return rows.map((row) => {
    try {
      return toEvent(decodeStored(ledger, row));
    } catch (cause) {
      const message = `Cannot read event ${row.seq} of "${project_id}": it is damaged`;
      throw new GateError("unavailable", message, { cause, next: "gate audit verify" });
    }
  });
}

/** The events of one action, oldest first. @throws GateError `unavailable` when one is damaged */
export async function listOfAction(ledger: Ledger, action_id: string): Promise<AuditEvent[]> {
  return await readEvents(ledger, "action_id = ? ORDER BY seq LIMIT 1000", [action_id]);
}

/**
 * The events of these rare types in a session, oldest first. @throws GateError `unavailable` when one
 * is damaged
 */
export async function listOfSession(
  ledger: Ledger,
  session_id: string,
  types: readonly AuditEvent["type"][],
): Promise<AuditEvent[]> {
  const marks = types.map(() => "?").join(", ");
  return await readEvents(
    ledger,
    `type IN (${marks}) AND ${RARE.type} AND session_id = ? ORDER BY seq LIMIT 1000`,
    [...types, session_id],
  );
}

/**
 * The newest events of a rare type since a time, newest first. @throws GateError `unavailable` when one
 * is damaged
 */
export async function listOfType(
  ledger: Ledger,
  type: AuditEvent["type"],
  { since, limit }: { since: string; limit: number },
): Promise<AuditEvent[]> {
  return await readEvents(
    ledger,
    `type = ? AND ${RARE.type} AND at >= ? ORDER BY seq DESC LIMIT ?`,
    [type, since, limit],
  );
}

/** The sessions that have an event of this rare type, newest first. */
export async function listSessionsWith(
  ledger: Ledger,
  type: AuditEvent["type"],
  limit: number,
): Promise<string[]> {
  const rows = await ledger.all(
    `SELECT session_id, max(seq) AS newest FROM audit
      WHERE project_id = ? AND type = ? AND ${RARE.type} AND session_id IS NOT NULL
      GROUP BY session_id ORDER BY newest DESC LIMIT ?`,
    [ledger.project_id, type, limit],
  );
  return rows.map(({ session_id }) => String(session_id));
}

/** The events after `seq`, in order. @throws GateError `unavailable` when one is damaged */
export async function listEvents(
  ledger: Ledger,
  seq: number,
  limit: number,
): Promise<AuditEvent[]> {
  return await readEvents(ledger, "seq > ? ORDER BY seq LIMIT ?", [seq, limit]);
}

/** Every checkpoint, in order. */
export async function listCheckpoints(ledger: Ledger): Promise<Checkpoint[]> {
  const rows = await ledger.all(
    `${CHECKPOINTS} WHERE project_id = ? ORDER BY seq`,
    [ledger.project_id],
  );
  return rows.map(toCheckpoint);
}

const CHECKPOINT_TEXTS = ["project_id", "hash", "at", "public_key", "signature"] as const;

// As bytes: libSQL ends the process for a text that is not UTF-8.
const CHECKPOINTS = `SELECT seq, ${
  CHECKPOINT_TEXTS.map((name) => `CAST(${name} AS BLOB) AS ${name}`).join(", ")
} FROM checkpoints`;

/** A damaged text gets another character, so that its signature or its hash no longer fits. */
function toCheckpoint(row: Row): Checkpoint {
  const texts = CHECKPOINT_TEXTS.map((name) => [name, textOf(row[name]!)]);
  const { project_id, ...others } = Object.fromEntries(texts);
  // In the order of a new checkpoint, so that two exports of one log are the same bytes.
  return { project_id, seq: Number(row.seq), ...others } as Checkpoint;
}

/** The checkpoint of one event, if it has one. */
export async function findCheckpoint(ledger: Ledger, seq: number): Promise<Checkpoint | null> {
  const [row] = await ledger.all(
    `${CHECKPOINTS} WHERE project_id = ? AND seq = ?`,
    [ledger.project_id, seq],
  );
  return row ? toCheckpoint(row) : null;
}

/** The stored hash of one event; null when there is no such event. */
export async function findHash(ledger: Ledger, seq: number): Promise<string | null> {
  const [row] = await ledger.all(
    "SELECT CAST(hash AS BLOB) AS hash FROM audit WHERE project_id = ? AND seq = ?",
    [ledger.project_id, seq],
  );
  return row ? textOf(row.hash!) : null;
}

/** The filters of an export. */
export type EventFilter = Pick<
  AuditExportQuery,
  "from" | "to" | "type" | "session_id" | "action_id"
>;

/** The position after which a page begins. */
export type EventKey = Pick<AuditEvent, "at" | "seq">;

/** A page of the chain: the events after `after` whose number is at most `last`. */
export interface EventPage {
  after: EventKey;
  last: number;
  limit: number;
}

/**
 * At most `limit` events by an index scan for the most selective filter, so that no page reads more
 * rows than it returns. The caller applies the other filters.
 */
export async function listFiltered(
  ledger: Ledger,
  filter: EventFilter,
  { after, last, limit }: EventPage,
): Promise<AuditEvent[]> {
  const { from, where, args, order } = scanOf(filter, after, { last });
  return await readEvents(ledger, `${where} ORDER BY ${order} LIMIT ?`, [...args, limit], from);
}

/**
 * At most `limit` events before `before`, newest first, by the same scans as `listFiltered`. The
 * caller applies the other filters.
 */
export async function listRecent(
  ledger: Ledger,
  filter: EventFilter,
  { before, limit }: { before: EventKey; limit: number },
): Promise<AuditEvent[]> {
  const { from, where, args, is_timed } = indexOf(filter);
  const [range, order, limits] = is_timed
    ? ["(value, seq) < (?, ?) AND value >= ?", "value DESC, seq DESC", [
      ...[before.at, before.seq],
      filter.from ?? "",
    ]] as const
    : ["seq < ?", "seq DESC", [before.seq]] as const;
  const sql = `${where}${range} ORDER BY ${order} LIMIT ?`;
  return await readEvents(ledger, sql, [...args, ...limits, limit], from);
}

/** The time of one event; null when there is no such event. */
export async function findTime(ledger: Ledger, seq: number): Promise<string | null> {
  const [row] = await ledger.all(
    "SELECT CAST(at AS BLOB) AS at FROM audit WHERE project_id = ? AND seq = ?",
    [ledger.project_id, seq],
  );
  return row ? textOf(row.at!) : null;
}

/** The newest signed head. */
export async function newestCheckpoint(ledger: Ledger): Promise<Checkpoint | null> {
  const [row] = await ledger.all(
    `${CHECKPOINTS} WHERE project_id = ? ORDER BY seq DESC LIMIT 1`,
    [ledger.project_id],
  );
  return row ? toCheckpoint(row) : null;
}

/** Whether the event passes every filter. */
export function isWanted(event: AuditEvent, filter: EventFilter): boolean {
  const { from, to, type, session_id, action_id } = filter;
  return (from === undefined || event.at >= from) && (to === undefined || event.at < to) &&
    (type === undefined || event.type === type) &&
    (session_id === undefined || event.session_id === session_id) &&
    (action_id === undefined || event.action_id === action_id);
}

/** A page as CSV. `end` is the position of its last event; null on the last page. */
export interface CsvPage {
  /** Null when SQLite cannot write one of the values. */
  text: Uint8Array | null;
  end: EventKey | null;
}

/** The same page as CSV with every filter applied. SQLite writes it much faster than JavaScript. */
export async function readCsvPage(
  ledger: Ledger,
  filter: EventFilter,
  { after, last, limit }: EventPage,
): Promise<CsvPage> {
  const whole = scanOf(filter, after, { last });
  const [at] = await ledger.all(
    `SELECT at, seq FROM ${whole.from} WHERE project_id = ? AND ${whole.where}
      ORDER BY ${whole.order} LIMIT 1 OFFSET ?`,
    [ledger.project_id, ...whole.args, limit - 1],
  );
  const end = at ? { at: String(at.at), seq: Number(at.seq) } : null;
  const { from, where, args, order } = scanOf(filter, after, { last, end });
  const { sql, args: filters } = filtersOf(filter, last);
  const rows = await ledger.all(
    `SELECT CAST(group_concat(${CSV_LINE}, '') AS BLOB) AS text, total(odd) AS odd FROM
      (SELECT ${CSV_VALUES} FROM ${from}
        WHERE project_id = ? AND ${where}${sql} ORDER BY ${order} LIMIT -1)`,
    [ledger.project_id, ...args, ...filters],
  ).catch(refuseUnlessMalformed);
  const text = rows[0]?.text;
  if (rows.length === 0 || Number(rows[0]?.odd) > 0) return { text: null, end };
  return { text: text instanceof Uint8Array ? text : new Uint8Array(), end };
}

/** Returns no rows for damaged JSON: the export then reads single events and names the damaged one. */
function refuseUnlessMalformed(error: unknown): Row[] {
  if (/malformed JSON/.test(String((error as Error).message))) return [];
  throw error;
}

interface Condition {
  sql: string;
  args: Value[];
}

/** All filters as conditions. The `+` prevents SQLite from choosing another index for them. */
function filtersOf(filter: EventFilter, last: number): Condition {
  const parts: [sql: string, value: Value | undefined][] = [
    [" AND +seq <= ?", last],
    [" AND +at >= ?", filter.from],
    [" AND +at < ?", filter.to],
    [" AND +type = ?", filter.type],
    [" AND +session_id = ?", filter.session_id],
    [" AND +action_id = ?", filter.action_id],
  ];
  const given = parts.filter(([, value]) => value !== undefined);
  return { sql: given.map(([sql]) => sql).join(""), args: given.map(([, value]) => value!) };
}

/** The tables, the condition and the order of an index scan, up to `last` or to `end`. */
function scanOf(
  filter: EventFilter,
  after: EventKey,
  { last, end = null }: { last: number; end?: EventKey | null },
): { from: string; where: string; args: Value[]; order: string } {
  const { from, where, args, is_timed } = indexOf(filter);
  if (!is_timed) {
    const range = [after.seq, end?.seq ?? last];
    return { from, where: `${where}seq > ? AND seq <= ?`, args: [...args, ...range], order: "seq" };
  }
  const [to, limits] = end === null
    ? ["value < ?", [filter.to ?? "9999"]]
    : ["(value, seq) <= (?, ?)", [end.at, end.seq]];
  return {
    from,
    where: `${where}(value, seq) > (?, ?) AND ${to}`,
    args: [...args, after.at, after.seq, ...limits],
    order: "value, seq",
  };
}

/** Which index leads to the events of the most selective filter, as the beginning of a condition. */
interface EventIndex {
  from: string;
  where: string;
  args: Value[];
  /** The index orders the events by their time, as `value`; otherwise by their number. */
  is_timed?: boolean;
}

function indexOf({ action_id, session_id, type, from, to }: EventFilter): EventIndex {
  if (action_id !== undefined) {
    return { from: "audit", where: "action_id = ? AND ", args: [action_id] };
  }
  if (session_id !== undefined) return listed("session_id", " AND value = ?", session_id);
  // Events of the most frequent types are everywhere, so the whole log is read for them.
  if (type !== undefined && !COMMON_TYPES.includes(type)) {
    return { from: "audit", where: `type = ? AND ${RARE.type} AND `, args: [type] };
  }
  if (from === undefined && to === undefined) return { from: "audit", where: "", args: [] };
  return { ...listed("at"), is_timed: true };
}

/** The events with a value, in order. Of a column of both tables the index's own is read. */
function listed(name: string, condition = "", ...values: Value[]): EventIndex {
  return {
    from: "audit_index CROSS JOIN audit USING (project_id, seq)",
    where: `name = ?${condition} AND `,
    args: [name, ...values],
  };
}
