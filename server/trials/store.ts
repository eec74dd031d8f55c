import type { Plan } from "../actions/plan.ts";
import type { Action } from "../actions/schema.ts";
import { type ActionRow, COLUMNS, toRow } from "../actions/store.ts";
import type { Ledger } from "../db/ledger.ts";
import type { Grant } from "../grants/schema.ts";

/** At most `limit` actions with `from` ≤ seq < `before`, newest first. */
export async function listRecorded(
  ledger: Ledger,
  { from, before, limit }: { from: number; before: number; limit: number },
): Promise<ActionRow[]> {
  const rows = await ledger.all(
    `SELECT ${COLUMNS} FROM actions NOT INDEXED
      WHERE project_id = ? AND number >= ? AND number < ? ORDER BY number DESC LIMIT ?`,
    [ledger.project_id, from, before, limit],
  );
  return rows.map(toRow);
}

/** The number after the newest action's. */
export async function endOf(ledger: Ledger): Promise<number> {
  const [row] = await ledger.all(
    "SELECT max(number) AS last FROM actions",
  );
  return Number(row?.last ?? 0) + 1;
}

/** At most `limit` decided actions with `from` ≤ seq < `before` that not the policy alone decided, newest first. */
export async function listAsked(
  ledger: Ledger,
  { from, before, limit }: { from: number; before: number; limit: number },
): Promise<ActionRow[]> {
  const rows = await ledger.all(
    `SELECT ${COLUMNS} FROM actions NOT INDEXED
      WHERE project_id = ? AND number >= ? AND number < ?
        AND decided_by IS NOT 'policy' AND status <> 'pending'
      ORDER BY number DESC LIMIT ?`,
    [ledger.project_id, from, before, limit],
  );
  return rows.map(toRow);
}

/** An earlier action, as far as it takes to say whether a grant would have allowed it. */
export type PastAction =
  & Pick<Action, "id" | "seq" | "session_id" | "agent" | "tool" | "path" | "command" | "cwd">
  & Pick<Action, "digest" | "status" | "created_at">
  & { plan: Plan };

/** The actions of one kind (commands, files, one tool) among those numbers, newest first. */
export async function listPast(
  ledger: Ledger,
  of: { tool: string; access: Grant["access"]; since: string; from: number; before: number },
): Promise<PastAction[]> {
  const kind = of.access === null ? { sql: "tool = ?", args: [of.tool] } : {
    sql: `command IS ${of.access === "run" ? "NOT NULL" : "NULL AND path IS NOT NULL"}`,
    args: [],
  };
  const rows = await ledger.all(
    `SELECT id, seq, session_id, agent, tool, path, command, cwd, digest, status, created_at,
      input AS plan FROM actions NOT INDEXED
      WHERE project_id = ? AND number >= ? AND number < ? AND input IS NOT NULL
        AND created_at >= ? AND ${kind.sql}
      ORDER BY number DESC`,
    [ledger.project_id, of.from, of.before, of.since, ...kind.args],
  );
  return rows.map((row) =>
    ({ ...row, plan: JSON.parse(String(row.plan)) }) as unknown as PastAction
  );
}
