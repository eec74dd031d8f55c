import type { Database } from "../db/database.ts";
import type { Statement } from "../db/ledger.ts";
import type { ViewedFile } from "./schema.ts";

/** Whose mark it is, and on which session. */
export interface Viewer {
  member_id: string;
  session_id: string;
}

export async function listViewed(
  registry: Database,
  { member_id, session_id }: Viewer,
): Promise<ViewedFile[]> {
  const rows = await registry.all(
    `SELECT path, before_sha256, after_sha256 FROM viewed_files
      WHERE member_id = ? AND session_id = ? ORDER BY path`,
    [member_id, session_id],
  );
  return rows.map(({ path, before_sha256, after_sha256 }) => ({
    path: String(path),
    before_sha256: before_sha256 === null ? null : String(before_sha256),
    after_sha256: after_sha256 === null ? null : String(after_sha256),
  }));
}

/** Inserts the mark, and deletes the person's oldest ones beyond `most`. */
export function insertViewed(
  { member_id, session_id }: Viewer,
  { path, before_sha256, after_sha256 }: ViewedFile,
  { at, most }: { at: string; most: number },
): Statement[] {
  return [
    {
      sql: `INSERT INTO viewed_files
        (member_id, session_id, path, before_sha256, after_sha256, at) VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT (member_id, session_id, path) DO UPDATE SET
          before_sha256 = excluded.before_sha256, after_sha256 = excluded.after_sha256,
          at = excluded.at`,
      args: [member_id, session_id, path, before_sha256, after_sha256, at],
    },
    {
      sql: `DELETE FROM viewed_files WHERE member_id = ? AND (session_id, path) IN
        (SELECT session_id, path FROM viewed_files WHERE member_id = ?
          ORDER BY at DESC, session_id, path LIMIT -1 OFFSET ?)`,
      args: [member_id, member_id, most],
    },
  ];
}

export function removeViewed({ member_id, session_id }: Viewer, path: string): Statement {
  return {
    sql: "DELETE FROM viewed_files WHERE member_id = ? AND session_id = ? AND path = ?",
    args: [member_id, session_id, path],
  };
}
