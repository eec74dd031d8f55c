import { Connection } from "../../db/connection.ts";
import type { Row } from "../../db/ledger.ts";

const MOST_SESSIONS = 50;

/** A session of opencode with its newest answer, as its database holds them. */
export interface OpencodeRow {
  session: Row;
  /** JSON of the newest message of the model. */
  answer: string | null;
  /** The number of messages of the person. */
  requests: number;
}

/**
 * The main sessions that opencode changed since a time, the newest first. Opens its database for
 * reading only. @throws Error when the database is locked, or when it has other tables
 */
export function listOpencodeSessions(path: string, since: number): OpencodeRow[] {
  const connection = new Connection(`file:${encodeURI(path).replaceAll("?", "%3f")}?mode=ro`);
  try {
    const sessions = connection.run({
      sql: `SELECT id, directory, version, cost, tokens_input, tokens_output, tokens_reasoning,
          tokens_cache_read, tokens_cache_write, model, time_created, time_updated
        FROM session WHERE parent_id IS NULL AND time_updated >= ?
        ORDER BY time_updated DESC LIMIT ?`,
      args: [since, MOST_SESSIONS],
    });
    return sessions.map((session) => {
      const [answer] = connection.run({
        sql: `SELECT data FROM message
          WHERE session_id = ? AND json_extract(data, '$.role') = 'assistant'
          ORDER BY time_created DESC LIMIT 1`,
        args: [session.id!],
      });
      const [count] = connection.run({
        sql: `SELECT count(*) AS requests FROM message
          WHERE session_id = ? AND json_extract(data, '$.role') = 'user'`,
        args: [session.id!],
      });
      return {
        session,
        answer: answer ? String(answer.data) : null,
        requests: Number(count?.requests ?? 0),
      };
    });
  } finally {
    connection.close();
  }
}
