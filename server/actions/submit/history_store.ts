import type { Ledger } from "../../db/ledger.ts";
import type { Analysis } from "../../policy/schema.ts";

/** A recorded action, as far as later ones depend on it. */
export interface Recent {
  session_id: string;
  tool: string;
  created_at: string;
  analysis: Analysis | null;
  /** The paths that its tool read. */
  reads: string[];
}

/** The newest actions that policy did not deny, newest first. */
export async function listRecent(ledger: Ledger, limit: number): Promise<Recent[]> {
  const rows = await ledger.all(
    `SELECT session_id, tool, path, created_at, analysis FROM actions NOT INDEXED
      WHERE project_id = ? AND status <> 'blocked' ORDER BY number DESC LIMIT ?`,
    [ledger.project_id, limit],
  );
  return rows.map(({ session_id, tool, path, created_at, analysis }) => ({
    session_id: String(session_id),
    tool: String(tool),
    created_at: String(created_at),
    analysis: analysis === null ? null : JSON.parse(String(analysis)) as Analysis | null,
    reads: path !== null && /read/i.test(String(tool)) ? [String(path)] : [],
  }));
}
