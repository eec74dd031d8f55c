import type { Database } from "../db/database.ts";

/** The record of a request with an `Idempotency-Key`. */
export interface Kept {
  fingerprint: string;
  /** 0 while the request runs. Stays 0 when the daemon crashes during it. */
  status: number;
  answer: string;
}

export async function findKept(
  database: Database,
  key: string,
  now: string,
): Promise<Kept | null> {
  const rows = await database.all(
    "SELECT fingerprint, status, answer FROM idempotency WHERE key = ? AND expires_at > ?",
    [key, now],
  );
  return (rows[0] as unknown as Kept | undefined) ?? null;
}

/** Records that the request runs. Deletes expired records and the oldest beyond `most`. */
export async function insertRunning(
  database: Database,
  row: { key: string; fingerprint: string; now: string; expires_at: string; most: number },
): Promise<void> {
  const { key, fingerprint, now, expires_at, most } = row;
  await database.batch([
    { sql: "DELETE FROM idempotency WHERE expires_at <= ?", args: [now] },
    {
      sql: `DELETE FROM idempotency WHERE key IN
        (SELECT key FROM idempotency ORDER BY expires_at DESC LIMIT -1 OFFSET ?)`,
      args: [most - 1],
    },
    {
      sql: `INSERT INTO idempotency (key, fingerprint, status, answer, expires_at)
        VALUES (?, ?, 0, '', ?)`,
      args: [key, fingerprint, expires_at],
    },
  ]);
}

export async function updateAnswer(
  database: Database,
  key: string,
  status: number,
  answer: string,
): Promise<void> {
  await database.batch([{
    sql: "UPDATE idempotency SET status = ?, answer = ? WHERE key = ?",
    args: [status, answer, key],
  }]);
}

/** Forgets the oldest answers, so that the others have at most so many characters. Their keys stay. */
export async function forgetAnswers(database: Database, most: number): Promise<void> {
  await database.batch([{
    sql:
      `UPDATE idempotency SET status = 0, answer = '' WHERE status <> 0 AND key IN (SELECT key FROM
      (SELECT key, sum(length(answer)) OVER (ORDER BY expires_at DESC, key) AS total
        FROM idempotency) WHERE total > ?)`,
    args: [most],
  }]);
}

export async function removeKept(database: Database, key: string): Promise<void> {
  await database.batch([{ sql: "DELETE FROM idempotency WHERE key = ?", args: [key] }]);
}
