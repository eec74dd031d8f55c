import { toEvent } from "../db/chain.ts";
import type { Ledger, Row, Value } from "../db/ledger.ts";
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
async function readEvents(ledger: Ledger, where: string, args: Value[]): Promise<AuditEvent[]> {
  const { project_id } = ledger;
  const sql = `SELECT ${STORED} FROM audit WHERE project_id = ? AND ${where}`;
  const rows = await ledger.all(sql, [project_id, ...args]);
  return rows.map((row) => {
    try {
      return toEvent(decodeStored(ledger, row));
    } catch (cause) {
      const message = `Cannot read event ${row.seq} of "${project_id}": it is damaged; ` +
        "run: gate audit verify";
      throw new GateError("unavailable", message, { cause });
    }
  });
}

/** The events of one action, oldest first. @throws GateError `unavailable` when one is damaged */
export async function listOfAction(ledger: Ledger, action_id: string): Promise<AuditEvent[]> {
  return await readEvents(ledger, "action_id = ? ORDER BY seq LIMIT 1000", [action_id]);
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

/** The stored hash of one event; null when there is no such event. */
export async function findHash(ledger: Ledger, seq: number): Promise<string | null> {
  const [row] = await ledger.all(
    "SELECT CAST(hash AS BLOB) AS hash FROM audit WHERE project_id = ? AND seq = ?",
    [ledger.project_id, seq],
  );
  return row ? new TextDecoder().decode(row.hash as Uint8Array) : null;
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
  const { where, args, order } = scanOf(filter, after, { last });
  return await readEvents(ledger, `${where} ORDER BY ${order} LIMIT ?`, [...args, limit]);
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
    `SELECT at, seq FROM audit WHERE project_id = ? AND ${whole.where}
      ORDER BY ${whole.order} LIMIT 1 OFFSET ?`,
    [ledger.project_id, ...whole.args, limit - 1],
  );
  const end = at ? { at: String(at.at), seq: Number(at.seq) } : null;
  const { where, args, order } = scanOf(filter, after, { last, end });
  const { sql, args: filters } = filtersOf(filter, last);
  const rows = await ledger.all(
    `SELECT CAST(group_concat(${CSV_LINE}, '') AS BLOB) AS text, total(odd) AS odd FROM
      (SELECT ${CSV_VALUES} FROM audit
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

/** The condition and order of an index scan, up to `last` or to `end`. */
function scanOf(
  filter: EventFilter,
  after: EventKey,
  { last, end = null }: { last: number; end?: EventKey | null },
): { where: string; args: Value[]; order: string } {
  const until = end?.seq ?? last;
  for (const name of ["action_id", "session_id", "type"] as const) {
    const value = filter[name];
    if (value === undefined) continue;
    const args = [value, after.seq, until];
    return { where: `${name} = ? AND seq > ? AND seq <= ?`, args, order: "seq" };
  }
  if (filter.from === undefined && filter.to === undefined) {
    return { where: "seq > ? AND seq <= ?", args: [after.seq, until], order: "seq" };
  }
  const from = [after.at, after.seq];
  return end === null
    ? { where: "(at, seq) > (?, ?) AND at < ?", args: [...from, filter.to ?? "9999"], order: TIMED }
    : {
      where: "(at, seq) > (?, ?) AND (at, seq) <= (?, ?)",
      args: [...from, end.at, end.seq],
      order: TIMED,
    };
}

const TIMED = "at, seq";
