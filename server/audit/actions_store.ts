import type { Ledger } from "../db/ledger.ts";

/** The fields of an action's row that the log can confirm. */
export interface StoredAction {
  id: string;
  status: string;
  execution: string;
  exit_code: number | null;
  decided_by: string | null;
  digest: string;
}

/** The same fields as one event of an action has them; null where it has none. */
export interface StoredStep {
  seq: number;
  type: string;
  actor: { kind: string; id: string };
  status: string | null;
  execution: string | null;
  /** As JSON, because an event can say that there is none. */
  exit_code: string | null;
  digest: string | null;
  rollback: string | null;
}

/** An action with the events that changed it, oldest first. Null for a text that is not UTF-8. */
export interface Recorded {
  number: number;
  recorded: { action: StoredAction; steps: StoredStep[] } | null;
}

const STEPS = ["submitted", "approved", "rejected", "expired", "cancelled", "started", "finished"]
  .concat("rolled_back").map((name) => `'action.${name}'`).concat("'vote.cast'").join(", ");

const RECORDED = `SELECT number, CAST(json_array(
    json_object('id', id, 'status', status, 'execution', execution, 'exit_code', exit_code,
      'decided_by', decided_by, 'digest', digest),
    json((SELECT json_group_array(json_object('seq', seq, 'type', type, 'actor', json(actor),
        'status', data ->> '$.status', 'execution', data ->> '$.execution',
        'exit_code', data -> '$.exit_code', 'digest', data ->> '$.digest',
        'rollback', data ->> '$.rollback'))
      FROM (SELECT seq, type, actor, data FROM audit
        WHERE project_id = actions.project_id AND action_id = actions.id AND type IN (${STEPS})
        ORDER BY seq)))
  ) AS BLOB) AS texts FROM actions`;

/** At most `limit` actions after `number`. Each is read in one state together with its events. */
export async function listRecorded(
  ledger: Ledger,
  number: number,
  limit: number,
): Promise<Recorded[]> {
  const rows = await ledger.all(
    `${RECORDED} WHERE number > ? AND project_id = ? ORDER BY number LIMIT ?`,
    [number, ledger.project_id, limit],
  );
  return rows.map((row) => ({
    number: Number(row.number),
    recorded: recordedOf(row.texts as Uint8Array),
  }));
}

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function recordedOf(texts: Uint8Array): Recorded["recorded"] {
  try {
    const [action, steps] = JSON.parse(UTF8.decode(texts)) as [StoredAction, StoredStep[]];
    // SQLite returns a JSON value inside of JSON as that value.
    const asText = ({ exit_code }: StoredStep) =>
      exit_code === null || typeof exit_code === "string" ? exit_code : JSON.stringify(exit_code);
    return { action, steps: steps.map((step) => ({ ...step, exit_code: asText(step) })) };
  } catch {
    return null;
  }
}

/** Which of these actions have no row. */
export async function listMissing(ledger: Ledger, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const rows = await ledger.all(
    `SELECT value AS id FROM json_each(?) WHERE NOT EXISTS
      (SELECT 1 FROM actions WHERE project_id = ? AND actions.id = value) LIMIT 1`,
    [JSON.stringify(ids), ledger.project_id],
  );
  return rows.map(({ id }) => String(id));
}

/**
 * Whether an action is undone. The newest of its rollbacks, their rollbacks and so on decides. A
 * rollback that was only marked as rolled back, because the files had their old content, changes no
 * earlier action.
 */
export async function isRolledBack(ledger: Ledger, id: string): Promise<boolean> {
  const [newest] = await ledger.all(
    // UNION reads each event at most twice, also where forged rollbacks undo each other in a circle.
    `WITH RECURSIVE rollbacks (id, is_undone, seq) AS (
        SELECT ?2, 0, 0
        UNION
        SELECT audit.data ->> '$.rollback', 1 - is_undone, audit.seq
          FROM rollbacks CROSS JOIN audit
          WHERE audit.project_id = ?1 AND audit.action_id = rollbacks.id
            AND audit.type = 'action.rolled_back'
            AND (rollbacks.seq = 0 OR audit.data ->> '$.rollback' IS NOT NULL)
      )
      SELECT is_undone FROM rollbacks WHERE seq > 0 ORDER BY seq DESC LIMIT 1`,
    [ledger.project_id, id],
  );
  return newest !== undefined && Number(newest.is_undone) === 1;
}
