import type { Ledger, Statement } from "../../db/ledger.ts";
import { OF_SESSION } from "../../db/projections.ts";
import { yieldTurn } from "../scheduling.ts";
import { type ActionRow, COLUMNS, toRow } from "../store.ts";
import { ownActions } from "../../db/machines.ts";
import { sqlNames } from "../tools.ts";

/** An executed action; `done_seq` gives the order of the executions. */
export type DoneRow = ActionRow & { done_seq: number };

/** A later action on the same file, in any session, that is not rolled back. */
interface LaterRow {
  action_id: string;
  session_id: string;
  done_seq: number;
}

const PAGE = 200;

const DONE_SEQ = `coalesce((SELECT max(audit.seq) FROM audit INDEXED BY audit_by_action
  WHERE audit.project_id = actions.project_id AND audit.action_id = actions.id
    AND audit.type = 'action.finished'), 0)`;

/** Executed actions. A failed command, or one of unknown outcome, matches if it is reversible. */
const IS_DONE = `(actions.execution = 'succeeded' OR (actions.tool IN (${
  sqlNames(({ restores }) => restores === "effects")
})
  AND actions.execution IN ('failed', 'unknown') AND actions.reversible))`;

/** A condition: the action was executed and is not rolled back. */
export function onlyWhileDone(project_id: string, id: string): Statement {
  return {
    sql: `EXISTS (SELECT 1 FROM actions WHERE project_id = ? AND id = ?
      AND status = 'approved' AND ${IS_DONE})`,
    args: [project_id, id],
  };
}

/**
 * The executed actions of a session, in the order of execution, rolled back or not. Stops reading
 * once it has more than `most`, so it can return up to `most` + 200.
 */
export async function listDone(
  ledger: Ledger,
  session_id: string,
  most: number,
): Promise<DoneRow[]> {
  const found: DoneRow[] = [];
  for (let after = 0, size = PAGE; size === PAGE && found.length <= most;) {
    const rows = await ledger.all(
      `SELECT ${COLUMNS}, ${DONE_SEQ} AS done_seq FROM ${OF_SESSION}
        WHERE place > ? AND ${IS_DONE} ORDER BY place LIMIT ?`,
      [ledger.project_id, session_id, after, PAGE],
    );
    found.push(...rows.map((row) => toRow(row) as DoneRow));
    size = rows.length;
    await yieldTurn();
    after = found.at(-1)?.seq ?? 0;
  }
  return found.sort((a, b) => a.done_seq - b.done_seq);
}

/** Later actions on the file that are not rolled back. Rollbacks count only if `withRollbacks`. */
export async function listLater(
  ledger: Ledger,
  path: string,
  since: { started_at: string; done_seq: number },
  withRollbacks: boolean,
): Promise<LaterRow[]> {
  const rows = await ledger.all(
    `SELECT DISTINCT actions.id AS action_id, actions.session_id, ${DONE_SEQ} AS done_seq
      FROM intents JOIN actions
        ON actions.project_id = intents.project_id AND actions.id = intents.action_id
      WHERE intents.project_id = ? AND intents.path = ? AND intents.created_at >= ?
        AND actions.status = 'approved' AND ${IS_DONE}
        AND (actions.tool NOT IN (${sqlNames(({ undoes }) => undoes)}) OR ?)${ownActions(ledger)}
      ORDER BY intents.created_at LIMIT 10000`,
    [ledger.project_id, path, since.started_at, withRollbacks ? 1 : 0],
  );
  return (rows as unknown as LaterRow[]).filter(({ done_seq }) => done_seq > since.done_seq);
}
