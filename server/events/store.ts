import type { Database } from "../db/database.ts";
import type { Statement } from "../db/ledger.ts";
import { jsonText } from "../db/texts.ts";
import type { Head } from "../evidence/chain.ts";
import type { PublishedEvent } from "./schema.ts";

const PREFIX_DIGITS = 6;

/** The first digits of an action's UUID (version 7). Six digits cover about four and a half hours. */
export function prefixOf(action_id: string): string {
  return action_id.slice(0, PREFIX_DIGITS).toLowerCase();
}

/** One statement for all of them: a busy moment has hundreds. */
export function insertEvents(events: readonly PublishedEvent[]): Statement[] {
  if (events.length === 0) return [];
  return [{ sql: INSERT_EVENTS, args: [jsonText(events)] }];
}

const STREAM = ["cursor", "project_id", "topic", "type", "id", "seq", "at"];
const INSERT_EVENTS = `INSERT INTO stream (${STREAM.join(", ")})
  SELECT ${STREAM.map((name) => `value ->> '${name}'`).join(", ")} FROM json_each(?)`;

export function rememberHead(project_id: string, head: Head): Statement {
  return {
    sql: `INSERT INTO heads (project_id, seq, hash) VALUES (?, ?, ?)
      ON CONFLICT (project_id) DO UPDATE SET seq = excluded.seq, hash = excluded.hash`,
    args: [project_id, head.seq, head.hash],
  };
}

export function forgetHead(project_id: string): Statement {
  return { sql: "DELETE FROM heads WHERE project_id = ?", args: [project_id] };
}

export function touchProject(project_id: string, at: string): Statement {
  return {
    sql: "UPDATE projects SET last_activity_at = ? WHERE project_id = ?",
    args: [at, project_id],
  };
}

/** Records that the project has actions whose ids begin with these digits. */
export function noteAction(project_id: string, prefix: string): Statement {
  return {
    sql: "INSERT INTO action_times (prefix, project_id) VALUES (?, ?) ON CONFLICT DO NOTHING",
    args: [prefix, project_id],
  };
}

export function pruneBelow(cursor: number): Statement {
  return { sql: "DELETE FROM stream WHERE cursor < ?", args: [cursor] };
}

export async function findHead(registry: Database, project_id: string): Promise<Head | null> {
  const rows = await registry.all("SELECT seq, hash FROM heads WHERE project_id = ?", [project_id]);
  const row = rows[0];
  return row ? { seq: Number(row.seq), hash: String(row.hash) } : null;
}

/** The newest cursor ever assigned and the oldest one still kept. */
export async function findBounds(
  registry: Database,
): Promise<{ newest: number; oldest: number | null }> {
  const [given, kept] = await Promise.all([
    registry.all("SELECT seq FROM sqlite_sequence WHERE name = 'stream'"),
    registry.all("SELECT min(cursor) AS oldest FROM stream"),
  ]);
  const oldest = kept[0]?.oldest;
  return {
    newest: Number(given[0]?.seq ?? 0),
    oldest: typeof oldest === "number" ? oldest : null,
  };
}

export async function listEvents(
  registry: Database,
  cursor: number,
  limit: number,
): Promise<PublishedEvent[]> {
  const rows = await registry.all(
    "SELECT * FROM stream WHERE cursor > ? ORDER BY cursor LIMIT ?",
    [cursor, limit],
  );
  return rows as unknown as PublishedEvent[];
}

/** The cursor of the `count`th newest event; null when there are fewer. */
export async function findOldestKept(registry: Database, count: number): Promise<number | null> {
  const rows = await registry.all(
    "SELECT cursor FROM stream ORDER BY cursor DESC LIMIT 1 OFFSET ?",
    [count - 1],
  );
  return rows[0] ? Number(rows[0].cursor) : null;
}
