import type { Database } from "../db/database.ts";
import type { Row, Statement } from "../db/ledger.ts";
import { type Delivery, type DeliveryState, Message } from "./schema.ts";

/** A message that waits for its receiver. */
export interface Waiting {
  id: string;
  receiver_id: string;
  attempts: number;
  message: Message;
}

/** A message that is new for its receiver. */
export interface NewDelivery {
  id: string;
  receiver_id: string;
  seq: number;
  message: Message;
  /** Why it is given up at once; null if it waits. */
  error: string | null;
}

/** Without a wait for the disk: after a power cut the events come again. */
const NOT_SYNCED = { is_synced: false };

/** The last event that was turned into news; null while there is no receiver. */
export async function findCursor(registry: Database): Promise<number | null> {
  const [row] = await registry.all("SELECT cursor FROM notifications_cursor");
  return row ? Number(row.cursor) : null;
}

export async function clearCursor(registry: Database): Promise<void> {
  await registry.batch([{ sql: "DELETE FROM notifications_cursor", args: [] }], NOT_SYNCED);
}

/** Keeps new messages together with the last event that they were made of. */
export async function saveNews(
  registry: Database,
  { cursor, news, now }: { cursor: number; news: readonly NewDelivery[]; now: string },
): Promise<void> {
  await registry.batch([...news.map((one) => insert(one, now)), moveCursor(cursor)], NOT_SYNCED);
}

function moveCursor(cursor: number): Statement {
  return {
    sql: `INSERT INTO notifications_cursor (one, cursor) VALUES (1, ?)
      ON CONFLICT (one) DO UPDATE SET cursor = excluded.cursor`,
    args: [cursor],
  };
}

function insert({ id, receiver_id, seq, message, error }: NewDelivery, now: string): Statement {
  const isDead = error !== null;
  return {
    sql: `INSERT INTO notifications (id, receiver_id, project_id, seq, message, state, attempts,
        next_at, error, created_at, done_at) VALUES (?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?)
      ON CONFLICT (project_id, seq, receiver_id) DO NOTHING`,
    args: [
      ...[id, receiver_id, message.project_id, seq, JSON.stringify(message)],
      ...[isDead ? "dead" : "waiting", isDead ? null : now, error, now, isDead ? now : null],
    ],
  };
}

/** The receivers with something due. */
export async function listDueReceivers(registry: Database, now: string): Promise<string[]> {
  const rows = await registry.all(
    `SELECT DISTINCT receiver_id FROM notifications WHERE state = 'waiting' AND next_at <= ?`,
    [now],
  );
  return rows.map(({ receiver_id }) => String(receiver_id));
}

/** The oldest message that is due at a receiver; null if none is. */
export async function findDue(
  registry: Database,
  receiver_id: string,
  now: string,
): Promise<Waiting | null> {
  const [row] = await registry.all(
    `SELECT id, attempts, message FROM notifications
      WHERE state = 'waiting' AND receiver_id = ? AND next_at <= ? ORDER BY next_at, id LIMIT 1`,
    [receiver_id, now],
  );
  if (!row) return null;
  const message = Message.parse(JSON.parse(String(row.message)));
  return { id: String(row.id), receiver_id, attempts: Number(row.attempts), message };
}

/** The time of the next attempt; null if nothing waits. */
export async function nextAttempt(registry: Database): Promise<string | null> {
  const [row] = await registry.all(
    "SELECT min(next_at) AS at FROM notifications WHERE state = 'waiting'",
  );
  return typeof row?.at === "string" ? row.at : null;
}

/** The outcome of one attempt. */
export interface Attempt {
  state: DeliveryState;
  error: string | null;
  next_at: string | null;
}

export async function saveAttempt(
  registry: Database,
  id: string,
  { state, error, next_at }: Attempt,
  now: string,
): Promise<void> {
  await registry.batch([{
    sql: `UPDATE notifications SET state = ?, error = ?, next_at = ?, attempts = attempts + 1,
      done_at = ? WHERE id = ? AND state = 'waiting'`,
    args: [state, error, next_at, state === "waiting" ? null : now, id],
  }], NOT_SYNCED);
}

/** The numbers of messages by receiver and state. */
export async function countByReceiver(
  registry: Database,
): Promise<{ receiver_id: string; state: string; count: number }[]> {
  const rows = await registry.all(
    "SELECT receiver_id, state, count(*) AS count FROM notifications GROUP BY state, receiver_id",
  );
  return rows.map(({ receiver_id, state, count }) => ({
    receiver_id: String(receiver_id),
    state: String(state),
    count: Number(count),
  }));
}

/** The messages in a state, newest first. */
export async function listDeliveries(
  registry: Database,
  state: DeliveryState,
  limit: number,
): Promise<Delivery[]> {
  const rows = await registry.all(
    "SELECT * FROM notifications WHERE state = ? ORDER BY created_at DESC, id DESC LIMIT ?",
    [state, limit],
  );
  return rows.map(toDelivery);
}

export async function findDelivery(registry: Database, id: string): Promise<Delivery | null> {
  const [row] = await registry.all("SELECT * FROM notifications WHERE id = ?", [id]);
  return row ? toDelivery(row) : null;
}

export async function deleteDelivery(registry: Database, id: string): Promise<void> {
  await registry.batch([{ sql: "DELETE FROM notifications WHERE id = ?", args: [id] }]);
}

/** Lets given-up messages wait again. Returns how many. */
export async function retryDead(
  registry: Database,
  { id, receiver_id }: { id?: string; receiver_id?: string },
  now: string,
): Promise<number> {
  const which = id !== undefined
    ? { sql: " AND id = ?", args: [id] }
    : receiver_id !== undefined
    ? { sql: " AND receiver_id = ?", args: [receiver_id] }
    : { sql: "", args: [] };
  const [rows] = await registry.batch([{
    sql: `UPDATE notifications SET state = 'waiting', attempts = 0, next_at = ?, done_at = NULL
      WHERE state = 'dead'${which.sql} RETURNING id`,
    args: [now, ...which.args],
  }]);
  return rows?.length ?? 0;
}

/** Deletes the oldest finished messages beyond these numbers. */
export async function prune(registry: Database, keep: number): Promise<void> {
  await registry.batch(
    ["sent", "dead"].map((state) => ({
      sql: `DELETE FROM notifications WHERE id IN (SELECT id FROM notifications
        WHERE state = ? ORDER BY done_at DESC, id DESC LIMIT -1 OFFSET ?)`,
      args: [state, keep],
    })),
    NOT_SYNCED,
  );
}

function toDelivery(row: Row): Delivery {
  const message = Message.parse(JSON.parse(String(row.message)));
  const { type, action_id, title } = message;
  const textOf = (value: unknown) => value === null ? null : String(value);
  return {
    id: String(row.id),
    receiver_id: String(row.receiver_id),
    project_id: String(row.project_id),
    ...{ type, action_id, title },
    state: row.state as DeliveryState,
    attempts: Number(row.attempts),
    next_at: textOf(row.next_at),
    error: textOf(row.error),
    created_at: String(row.created_at),
    done_at: textOf(row.done_at),
  };
}
