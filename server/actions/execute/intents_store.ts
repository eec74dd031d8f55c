import type { Ledger, Statement } from "../../db/ledger.ts";
import { ownActions } from "../../db/machines.ts";
import { jsonText } from "../../db/texts.ts";
import type { PlannedChange } from "../plan.ts";
import type { ActionRow } from "../store.ts";

/** One file change of an execution: committed as open before the file is touched, settled after it. */
export interface IntentRow {
  id: string;
  action_id: string;
  path: string;
  before_sha256: string | null;
  after_sha256: string | null;
  state: "open" | "done" | "undone" | "conflict";
  data: {
    mode: number | null;
    before_mode: number | null;
    temporary: string;
    /** Folders that are created for it, outermost first. */
    new_folders: string[];
  };
}

const CHAIN_LENGTH = "(SELECT coalesce(max(seq), 0) FROM audit WHERE project_id = ?)";

/** Inserts open intents of an action that starts, in one statement, if `only` finds a row. */
export function insertIntents(
  project_id: string,
  { id, digest, started_at }: Pick<ActionRow, "id" | "digest" | "started_at">,
  intents: readonly IntentRow[],
  only: Statement,
): Statement[] {
  if (intents.length === 0) return [];
  return [{
    sql: `INSERT INTO intents (project_id, id, action_id, digest, path, before_sha256,
      after_sha256, state, data, created_at, started_seq)
      SELECT ?, value ->> 'id', ?, ?, value ->> 'path', value ->> 'before_sha256',
        value ->> 'after_sha256', 'open', value -> 'data', ?, ${CHAIN_LENGTH} FROM json_each(?)
      WHERE EXISTS (${only.sql})`,
    args: [project_id, id, digest, started_at, project_id, jsonText(intents), ...only.args],
  }];
}

/** Inserts the file changes of a finished command as settled intents. */
export function insertDone(
  project_id: string,
  { id: action_id, digest }: { id: string; digest: string },
  changes: readonly (PlannedChange & { id: string })[],
  { created_at, settled_at }: { created_at: string; settled_at: string },
): Statement[] {
  if (changes.length === 0) return [];
  const done = changes.map(({ id, path, before, after }) => ({
    id,
    path,
    before: before?.sha256 ?? null,
    after: after?.sha256 ?? null,
    data: {
      mode: after?.mode ?? null,
      before_mode: before?.mode ?? null,
      temporary: "",
      new_folders: [],
    },
  }));
  return [{
    sql: `INSERT INTO intents (project_id, id, action_id, digest, path, before_sha256,
      after_sha256, state, data, created_at, settled_at, started_seq)
      SELECT ?, value ->> 'id', ?, ?, value ->> 'path', value ->> 'before', value ->> 'after',
        'done', value -> 'data', ?, ?, ${CHAIN_LENGTH} FROM json_each(?)`,
    args: [project_id, action_id, digest, created_at, settled_at, project_id, jsonText(done)],
  }];
}

/** Deletes the intents of an action, before its files are compared again. */
export function forgetIntents(project_id: string, action_id: string): Statement {
  return {
    sql: "DELETE FROM intents WHERE project_id = ? AND action_id = ?",
    args: [project_id, action_id],
  };
}

/** The paths that another action is changing, or has changed since that number in the audit chain. */
export async function listChangedSince(
  ledger: Ledger,
  paths: readonly string[],
  { seq, but }: { seq: number; but: string },
): Promise<Set<string>> {
  // Another machine has other files of the same names.
  const own = ledger.machine === null ? "" : `AND EXISTS (SELECT 1 FROM actions
    WHERE actions.project_id = intents.project_id AND actions.id = intents.action_id${
    ownActions(ledger)
  })`;
  const rows = await ledger.all(
    `SELECT DISTINCT intents.path FROM json_each(?) AS given JOIN intents
      ON intents.project_id = ? AND intents.path = given.value
      WHERE intents.action_id <> ? AND (intents.state = 'open' OR intents.state = 'done' AND EXISTS (
        SELECT 1 FROM audit INDEXED BY audit_by_action
          WHERE audit.project_id = intents.project_id AND audit.action_id = intents.action_id
          AND audit.type = 'action.finished' AND audit.seq > ?)) ${own}`,
    [JSON.stringify(paths), ledger.project_id, but, seq],
  );
  return new Set(rows.map(({ path }) => String(path)));
}

/** Sets the final state of open intents, one statement for each. */
export function settleIntents(
  project_id: string,
  intents: readonly IntentRow[],
  settled_at: string,
): Statement[] {
  return intents.map(({ id, action_id, state, data }) => ({
    sql: `UPDATE intents SET state = ?, data = ?, settled_at = ?
      WHERE project_id = ? AND action_id = ? AND id = ? AND state = 'open'`,
    args: [state, jsonText(data), settled_at, project_id, action_id, id],
  }));
}

export async function listIntents(ledger: Ledger, action_id: string): Promise<IntentRow[]> {
  const rows = await ledger.all(
    `SELECT id, action_id, path, before_sha256, after_sha256, state, data FROM intents
      WHERE project_id = ? AND action_id = ? ORDER BY id`,
    [ledger.project_id, action_id],
  );
  return rows.map((row) =>
    ({ ...row, data: JSON.parse(String(row.data)) }) as unknown as IntentRow
  );
}
