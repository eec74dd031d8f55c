import type { Ledger, Statement } from "../../db/ledger.ts";
import { ownActions } from "../../db/machines.ts";
import { jsonText } from "../../db/texts.ts";
import { type ActionRow, COLUMNS, toRow } from "../store.ts";
import { sqlNames } from "../tools.ts";

/** An action of another session on the same file. */
export interface Rival {
  row: ActionRow;
  /** The real path of that file. */
  path: string;
}

/** At most this many conflicts are recorded for one action. */
const MOST = 20;

const UNDOING = sqlNames(({ undoes }) => undoes);

/** Inserts the files of a held action. A trigger deletes them when it is no longer held. */
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

/**
 * False only if neither `listHolders` nor, for any replaced file, `findUnreviewed` finds an action.
 * One statement, because most actions have no rival. CROSS JOIN keeps the order: from the few paths.
 */
export async function hasRival(
  ledger: Ledger,
  { id, session_id }: Pick<ActionRow, "id" | "session_id">,
  paths: readonly string[],
  replaced: readonly { path: string; sha256: string }[],
): Promise<boolean> {
  const [row] = await ledger.all(
    `SELECT EXISTS (SELECT 1 FROM json_each(?1) AS given
        CROSS JOIN held_paths ON held_paths.project_id = ?2 AND held_paths.path = given.value
        CROSS JOIN actions ON actions.project_id = ?2 AND actions.id = held_paths.action_id
        WHERE ${IS_HOLDER} ?3${ownActions(ledger)})
      OR EXISTS (SELECT 1 FROM json_each(?4) AS given
        CROSS JOIN actions ON actions.project_id = ?2 AND actions.id = (
          SELECT action_id FROM intents
            WHERE project_id = ?2 AND path = given.value ->> 'path' ${LAST_BUT} ?5 ${LAST_FIRST})
        WHERE actions.session_id <> ?3 AND ${IS_UNREVIEWED}${ownActions(ledger)}) AS found`,
    [JSON.stringify(paths), ledger.project_id, session_id, JSON.stringify(replaced), id],
  );
  return Number(row?.found) === 1;
}

const IS_HOLDER = "actions.status = 'pending' AND actions.session_id <>";
const LAST_BUT = "AND state = 'done' AND action_id <>";
const LAST_FIRST = "ORDER BY created_at DESC, started_seq DESC LIMIT 1";
const IS_UNREVIEWED = "actions.status = 'approved' AND actions.decided_by = 'policy' " +
  `AND actions.tool NOT IN (${UNDOING})`;

/** The held actions of other sessions on these files. */
export async function listHolders(
  ledger: Ledger,
  session_id: string,
  paths: readonly string[],
): Promise<Rival[]> {
  const rows = await ledger.all(
    `SELECT held_paths.path AS rival_path, ${prefixed()} FROM json_each(?) AS given
      JOIN held_paths ON held_paths.project_id = ? AND held_paths.path = given.value
      JOIN actions ON actions.project_id = held_paths.project_id
        AND actions.id = held_paths.action_id
      WHERE ${IS_HOLDER} ?${ownActions(ledger)} LIMIT ${MOST}`,
    [JSON.stringify(paths), ledger.project_id, session_id],
  );
  return rows.map(toRival);
}

/**
 * The last change of a file, if another session made it, policy allowed it without a review, and the
 * file still has the content that it left.
 */
export async function findUnreviewed(
  ledger: Ledger,
  { id, session_id }: Pick<ActionRow, "id" | "session_id">,
  left: { path: string; sha256: string },
): Promise<Rival | null> {
  const rows = await ledger.all(
    `SELECT ? AS rival_path, ${prefixed()} FROM
      (SELECT action_id, after_sha256 FROM intents
        WHERE project_id = ? AND path = ? ${LAST_BUT} ? ${LAST_FIRST}) AS last
      JOIN actions ON actions.project_id = ? AND actions.id = last.action_id
      WHERE last.after_sha256 = ? AND actions.session_id <> ? AND ${IS_UNREVIEWED}${
      ownActions(ledger)
    }`,
    [left.path, ledger.project_id, left.path, id, ledger.project_id, left.sha256, session_id],
  );
  return rows[0] ? toRival(rows[0]) : null;
}

/** Appends a conflict to an action and returns the action. */
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

/** The columns with their table, because the joined table has some of the same names. */
function prefixed(): string {
  return COLUMNS.split(", ").map((name) => `actions.${name}`).join(", ");
}

function toRival({ rival_path, ...row }: Parameters<typeof toRow>[0]): Rival {
  return { path: String(rival_path), row: toRow(row) };
}
