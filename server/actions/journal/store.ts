import type { AuditEvent } from "../../audit/schema.ts";
import type { Ledger, Statement } from "../../db/ledger.ts";

/** One file of an execution: committed before it is touched, settled by looking at it. */
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
    /** Folders that are made for it, outermost first. */
    new_folders: string[];
  };
}

/** Inserts an intent where its action's execution is this one. */
export function insertIntent(
  project_id: string,
  intent: IntentRow & { digest: string; claim_id: string; created_at: string },
): Statement {
  const { id, action_id, digest, path, before_sha256, after_sha256, data, created_at } = intent;
  return {
    sql: `INSERT INTO intents (project_id, id, action_id, digest, path, before_sha256,
      after_sha256, state, data, created_at) SELECT ?, ?, ?, ?, ?, ?, ?, 'open', ?, ?
      WHERE EXISTS (SELECT 1 FROM actions WHERE project_id = ? AND id = ? AND claim_id = ?)`,
    args: [
      ...[project_id, id, action_id, digest, path, before_sha256, after_sha256],
      ...[JSON.stringify(data), created_at, project_id, action_id, intent.claim_id],
    ],
  };
}

/** Settles an open intent. */
export function settleIntent(
  project_id: string,
  intent: IntentRow,
  settled_at: string,
): Statement {
  return {
    sql: `UPDATE intents SET state = ?, data = ?, settled_at = ?
      WHERE project_id = ? AND id = ? AND state = 'open'`,
    args: [intent.state, JSON.stringify(intent.data), settled_at, project_id, intent.id],
  };
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

/** Everything the chain says of one action, oldest first. */
export async function listTimeline(ledger: Ledger, action_id: string) {
  const rows = await ledger.all(
    `SELECT seq, at, type, actor, data FROM audit WHERE project_id = ? AND action_id = ?
      ORDER BY seq LIMIT 1000`,
    [ledger.project_id, action_id],
  );
  return rows.map((row) => ({
    ...row,
    actor: JSON.parse(String(row.actor)),
    data: JSON.parse(String(row.data)),
  })) as unknown as Pick<AuditEvent, "seq" | "at" | "type" | "actor" | "data">[];
}
