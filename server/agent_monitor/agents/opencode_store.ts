import { setImmediate as pause } from "node:timers/promises";
import { Connection } from "../../db/connection.ts";
import type { Row, Value } from "../../db/ledger.ts";

/** A session of opencode, as its database holds it. */
export interface OpencodeRow {
  session: Row;
  /** Model, tokens and the time of the end of the newest answer; null without one. */
  answer: Row | null;
  /** Messages of the person; null while older ones are still counted. */
  requests: number | null;
  /** Nothing follows the newest message of the person. */
  is_unanswered: boolean;
  /** The tool call of the newest answer that has no result. */
  open_call: Row | null;
  /** Sessions that this one started for a part of its work. */
  subagents: Row[];
}

/** Time on the event loop between two pauses. */
const SLICE_MS = 4;
/** Time for older messages in one look. They are counted over several. */
const COUNT_MS = 4;
const ROWS_AT_ONCE = 200;
/** So many messages of such a length together cost as much as one of the longest. */
const COUNTED_AT_ONCE = 32;
const MOST_SHORT_BYTES = 16 * 1024;
const MOST_SESSIONS = 20_000;
const MOST_SHOWN = 50;
const NEWEST = 20;
const MOST_SUBAGENTS = 100;
/** Reading a longer value would hold the event loop. */
const MOST_VALUE_BYTES = 512 * 1024;
/** All sessions are looked through again after this time. */
const ALL_MS = 60_000;

const TABLES = ["session", "message", "part"];
const SESSION = `SELECT id, rowid AS row, parent_id, directory, agent, version, cost, tokens_input,
    tokens_output, tokens_reasoning, tokens_cache_read, tokens_cache_write, time_created, time_updated,
    CASE WHEN octet_length(model) <= 4096 AND json_valid(model)
      THEN json_extract(model, '$.id') END AS model_id
  FROM session`;

/** Every statement searches an index. The database may be large, and another program may write it. */
const SQL = {
  session: `${SESSION} WHERE id = ?`,
  sessions: `${SESSION} WHERE rowid > ? ORDER BY rowid LIMIT ${ROWS_AT_ONCE}`,
  newest: `SELECT id FROM message WHERE session_id = ?
    ORDER BY time_created DESC, id DESC LIMIT ${NEWEST}`,
  role: `SELECT json_extract(data, '$.role') AS role FROM message
    WHERE id = ? AND octet_length(data) <= ${MOST_VALUE_BYTES} AND json_valid(data)`,
  answer: `SELECT id, json_extract(data, '$.modelID') AS model,
      json_extract(data, '$.time.completed') AS completed,
      json_extract(data, '$.tokens.input') AS input,
      json_extract(data, '$.tokens.cache.read') AS cache_read,
      json_extract(data, '$.tokens.cache.write') AS cache_write
    FROM message WHERE id = ?`,
  parts: `SELECT id FROM part WHERE message_id = ? ORDER BY id DESC LIMIT ${NEWEST}`,
  call: `SELECT json_extract(data, '$.tool') AS tool, time_updated,
      json_extract(data, '$.state.status') AS status,
      substr(json_extract(data, '$.state.input.command'), 1, 4096) AS command
    FROM part WHERE id = ? AND octet_length(data) <= ${MOST_VALUE_BYTES} AND json_valid(data)
      AND json_extract(data, '$.type') = 'tool'`,
  is_there: "SELECT 1 FROM message WHERE id = ?",
  following: `SELECT id, time_created, octet_length(data) > ${MOST_SHORT_BYTES} AS is_long,
      CASE WHEN octet_length(data) <= ${MOST_SHORT_BYTES} AND json_valid(data)
        THEN json_extract(data, '$.role') END AS role
    FROM message WHERE session_id = ? AND (time_created, id) > (?, ?)
    ORDER BY time_created, id LIMIT ${COUNTED_AT_ONCE}`,
};

/** The messages of one session up to a place in their order. */
interface Counted {
  requests: number;
  time: Value;
  id: Value;
}

/** Reads the database of opencode in short steps, between which other work runs. */
export class OpencodeReader {
  readonly #url: string;
  #sessions = new Map<string, Row>();
  #all_at = -Infinity;
  #counted = new Map<string, Counted>();
  #checked_schema: Value | undefined;

  constructor(path: string) {
    this.#url = `file:${encodeURI(path).replaceAll("?", "%3f").replaceAll("#", "%23")}?mode=ro`;
  }

  /**
   * The newest main sessions in these folders that changed since a time, the newest first.
   * @throws Error when the database is locked, or when it has other tables or indexes
   */
  async read(folders: ReadonlySet<string>, since: number): Promise<OpencodeRow[]> {
    const connection = new Connection(this.#url);
    try {
      const steps = new Steps(connection);
      await this.#check(steps);
      await this.#findSessions(steps, folders);
      const isShown = ({ parent_id, time_updated }: Row) =>
        parent_id === null && Number(time_updated) >= since;
      const newest = [...this.#sessions.values()].filter(isShown)
        .toSorted((a, b) => Number(b.time_updated) - Number(a.time_updated))
        .slice(0, MOST_SHOWN);
      const rows: OpencodeRow[] = [];
      for (const session of newest) rows.push(await this.#row(steps, session));
      const until = performance.now() + COUNT_MS;
      for (const row of rows) row.requests = await this.#count(steps, row.session.id!, until);
      const shown = new Set(newest.map(({ id }) => String(id)));
      for (const id of this.#counted.keys()) if (!shown.has(id)) this.#counted.delete(id);
      return rows;
    } finally {
      connection.close();
    }
  }

  /** @throws Error if the database could make a statement run for long */
  async #check(steps: Steps): Promise<void> {
    const [schema] = await steps.run("PRAGMA schema_version", []);
    if (schema?.schema_version === this.#checked_schema) return;
    this.#sessions.clear();
    this.#counted.clear();
    this.#all_at = -Infinity;
    // libSQL never ends an EXPLAIN, and the lock of a later statement would stay with it.
    const separate = new Connection(this.#url);
    try {
      const apart = new Steps(separate);
      await checkTables(apart);
      for (const sql of Object.values(SQL)) await checkPlan(apart, sql);
    } finally {
      separate.close();
    }
    this.#checked_schema = schema?.schema_version;
  }

  /** Keeps the sessions in these folders. Between two looks at all it reads the kept and new ones. */
  async #findSessions(steps: Steps, folders: ReadonlySet<string>): Promise<void> {
    const now = performance.now();
    const isAll = now - this.#all_at >= ALL_MS;
    const known = isAll ? [] : [...this.#sessions.values()];
    let last = known.reduce((most, { row }) => Math.max(most, Number(row)), 0);
    const found = new Map<string, Row>();
    for (const { id } of known) {
      const [row] = await steps.run(SQL.session, [id!]);
      if (row) found.set(String(id), row);
    }
    for (let left = MOST_SESSIONS; left > 0; left -= ROWS_AT_ONCE) {
      const rows = await steps.run(SQL.sessions, [last]);
      for (const row of rows) {
        if (folders.has(String(row.directory))) found.set(String(row.id), row);
      }
      if (rows.length < ROWS_AT_ONCE) break;
      last = Number(rows.at(-1)!.row);
    }
    if (isAll) this.#all_at = now;
    this.#sessions = found;
  }

  async #row(steps: Steps, session: Row): Promise<OpencodeRow> {
    const newest = await steps.run(SQL.newest, [session.id!]);
    let role: Value = null;
    let answer: Row | null = null;
    for (const [at, { id }] of newest.entries()) {
      const [row] = await steps.run(SQL.role, [id!]);
      if (at === 0) role = row?.role ?? null;
      if (row?.role !== "assistant") continue;
      [answer = null] = await steps.run(SQL.answer, [id!]);
      break;
    }
    return {
      ...{ session, answer, requests: null, is_unanswered: role === "user" },
      open_call: answer === null ? null : await openCallOf(steps, answer.id!),
      subagents: [...this.#sessions.values()].filter(({ parent_id }) => parent_id === session.id)
        .slice(-MOST_SUBAGENTS),
    };
  }

  /** The messages of the person; null until all are counted. */
  async #count(steps: Steps, session: Value, until: number): Promise<number | null> {
    const key = String(session);
    const before = this.#counted.get(key);
    // The person may have taken the last message back.
    const isValid = before && (await steps.run(SQL.is_there, [before.id])).length > 0;
    const counted = isValid ? before : { requests: 0, time: 0, id: "" };
    this.#counted.set(key, counted);
    while (performance.now() < until) {
      const rows = await steps.run(SQL.following, [session, counted.time, counted.id]);
      for (const { id, time_created, is_long, role: short_role } of rows) {
        if (is_long && performance.now() >= until) return null;
        const role = is_long ? (await steps.run(SQL.role, [id!]))[0]?.role : short_role;
        if (role === "user") counted.requests++;
        counted.time = time_created!;
        counted.id = id!;
      }
      if (rows.length < COUNTED_AT_ONCE) return counted.requests;
    }
    return null;
  }
}

async function openCallOf(steps: Steps, message: Value): Promise<Row | null> {
  for (const { id } of await steps.run(SQL.parts, [message])) {
    const [call] = await steps.run(SQL.call, [id!]);
    if (call?.status === "running" || call?.status === "pending") return call;
  }
  return null;
}

/** Runs short statements, and pauses when they took long together. */
class Steps {
  readonly #connection: Connection;
  #since = performance.now();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  async run(sql: string, args: Value[]): Promise<Row[]> {
    const rows = this.#connection.run({ sql, args });
    if (performance.now() - this.#since >= SLICE_MS) {
      await pause();
      this.#since = performance.now();
    }
    return rows;
  }
}

/** A view or a computed column may run for any time. */
async function checkTables(steps: Steps): Promise<void> {
  for (const table of TABLES) {
    const [found] = await steps.run(
      "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?",
      [table],
    );
    const sql = String(found?.sql);
    if (/^CREATE TABLE/i.test(sql) && !/\bAS\s*\(/i.test(sql)) continue;
    throw new Error(`Cannot read the table "${table}" of opencode: it is no plain table`);
  }
}

async function checkPlan(steps: Steps, sql: string): Promise<void> {
  const args = Array.from(sql.matchAll(/\?/g), () => "");
  const plan = await steps.run(`EXPLAIN QUERY PLAN ${sql}`, args);
  const slow = plan.find(({ detail }) => !String(detail).startsWith("SEARCH "));
  if (!slow) return;
  throw new Error(`Cannot read the database of opencode: an index is missing ("${slow.detail}")`);
}
