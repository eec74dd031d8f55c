import type { Database } from "../db/database.ts";
import type { Statement } from "../db/ledger.ts";

/** The project of a host's session; null before its first call. */
export async function findHome(registry: Database, key: string): Promise<string | null> {
  const rows = await registry.all("SELECT project_id FROM hook_sessions WHERE key = ?", [key]);
  return rows[0] ? String(rows[0].project_id) : null;
}

/** Keeps the first project of a session, and forgets sessions that began before `before`. */
export function insertHome(
  key: string,
  project_id: string,
  at: string,
  before: string,
): Statement[] {
  return [
    { sql: "DELETE FROM hook_sessions WHERE at < ?", args: [before] },
    {
      sql: `INSERT INTO hook_sessions (key, project_id, at) VALUES (?, ?, ?)
        ON CONFLICT DO NOTHING`,
      args: [key, project_id, at],
    },
  ];
}
