import type { Ledger, Statement } from "../../db/ledger.ts";
import { jsonText } from "../../db/texts.ts";
import { type ActionRow, COLUMNS, toRow } from "../store.ts";

/** What one session did to a file, or wants to do, that another one may not know of. */
export interface Rival {
  row: ActionRow;
  /** The real path that both are about. */
  path: string;
}

/** More of them are not told: who sees so many does not miss the rest. */
const MOST = 20;

/** Remembers the files of a held action; the database forgets them when it is decided. */
export function insertHeldPaths(
  project_id: string,
  action_id: string,
  paths: readonly string[],
): Statement[] {
  if (paths.length === 0) return [];
  return [{
    sql: `INSERT INTO held_paths (project_id, path, action_id)
      SELECT ?, value, ? FROM json_each(?) WHERE EXISTS
        (SELECT 1 FROM actions WHERE project_id = ? AND id = ? AND status = 'pending')
      ON CONFLICT DO NOTHING`,
    args: [project_id, action_id, jsonText(paths), project_id, action_id],
  }];
}

/** What other sessions hold on these files. */
export async function listHolders(
  ledger: Ledger,
  session_id: string,
  paths: readonly string[],
): Promise<Rival[]> {
  const rows = await ledger.all(
    `SELECT held_paths.path AS rival_path, ${prefixed()} FROM json_each(?) AS asked
      JOIN held_paths ON held_paths.project_id = ? AND held_paths.path = asked.value
      JOIN actions ON actions.project_id = held_paths.project_id
        AND actions.id = held_paths.action_id
      WHERE actions.status = 'pending' AND actions.session_id <> ? LIMIT ${MOST}`,
    [JSON.stringify(paths), ledger.project_id, session_id],
  );
  return rows.map(toRival);
}

/**
 * What another session left in a file, allowed by policy and looked at by nobody: what was done to
 * it last, however often that has happened, if it still is what is found there.
 */
export async function findUnreviewed(
  ledger: Ledger,
  { id, session_id }: Pick<ActionRow, "id" | "session_id">,
  left: { path: string; sha256: string },
): Promise<Rival | null> {
  const rows = await ledger.all(
    `SELECT ? AS rival_path, ${prefixed()} FROM
      (SELECT action_id, after_sha256 FROM intents
        WHERE project_id = ? AND path = ? AND state = 'done' AND action_id <> ?
        ORDER BY created_at DESC, rowid DESC LIMIT 1) AS last
      JOIN actions ON actions.project_id = ? AND actions.id = last.action_id
      WHERE last.after_sha256 = ? AND actions.session_id <> ? AND actions.status = 'approved'
        AND actions.decided_by = 'policy' AND actions.tool <> 'rollback'`,
    [left.path, ledger.project_id, left.path, id, ledger.project_id, left.sha256, session_id],
  );
  return rows[0] ? toRival(rows[0]) : null;
}

/** Notes on an action what it conflicts with. */
export function addConflict(
  project_id: string,
  id: string,
  conflict: ActionRow["conflicts"][number],
): Statement {
  return {
    sql: `UPDATE actions SET conflicts = json_insert(conflicts, '$[#]', json(?))
      WHERE project_id = ? AND id = ? AND json_array_length(conflicts) < ${MOST}
      RETURNING ${COLUMNS}`,
    args: [jsonText(conflict), project_id, id],
  };
}

/** Every column by its table: both have some of the same names. */
function prefixed(): string {
  return COLUMNS.split(", ").map((name) => `actions.${name}`).join(", ");
}

function toRival({ rival_path, ...row }: Parameters<typeof toRow>[0]): Rival {
  return { path: String(rival_path), row: toRow(row) };
}
