import type { Ledger, Statement } from "../db/ledger.ts";
import type { Block } from "./schema.ts";

const COLUMNS = `id, project_id, session_id, action_id, reason, agent, created_at, expires_at,
  lifted_at, lifted_by`;

export function insertBlock(block: Block): Statement {
  const { id, project_id, session_id, action_id, reason, agent, created_at, expires_at } = block;
  return {
    sql: `INSERT INTO blocks (project_id, id, session_id, action_id, reason, agent, created_at,
        expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    args: [project_id, id, session_id, action_id, reason, agent, created_at, expires_at],
  };
}

/** Makes a block active again, even if its row was deleted. */
export function putBlockBack(block: Block): Statement {
  const { sql, args } = insertBlock(block);
  const again = "ON CONFLICT DO UPDATE SET lifted_at = NULL, lifted_by = NULL, lift_id = NULL";
  return { sql: `${sql} ${again}`, args };
}

/** Lifts an active block. `when` matches only the attempt with this `lift_id`. */
export function liftBlock(
  { project_id, id }: Pick<Block, "project_id" | "id">,
  by: { at: string; who: string; lift_id: string },
): { update: Statement; when: Statement } {
  return {
    update: {
      sql: `UPDATE blocks SET lifted_at = ?, lifted_by = ?, lift_id = ?
        WHERE project_id = ? AND id = ? AND lifted_at IS NULL`,
      args: [by.at, by.who, by.lift_id, project_id, id],
    },
    when: {
      sql: "SELECT 1 FROM blocks WHERE project_id = ? AND id = ? AND lift_id = ?",
      args: [project_id, id, by.lift_id],
    },
  };
}

/** The blocks whose row is active, oldest first. */
export async function listActiveBlocks(ledger: Ledger): Promise<Block[]> {
  const rows = await ledger.all(
    `SELECT ${COLUMNS} FROM blocks WHERE project_id = ? AND lifted_at IS NULL
      ORDER BY created_at, id`,
    [ledger.project_id],
  );
  return rows as unknown as Block[];
}

export async function findBlock(ledger: Ledger, id: string): Promise<Block | null> {
  const rows = await ledger.all(
    `SELECT ${COLUMNS} FROM blocks WHERE project_id = ? AND id = ?`,
    [ledger.project_id, id],
  );
  return (rows[0] as unknown as Block) ?? null;
}

/** A denied action, as far as thresholds count it. */
export interface Denial {
  session_id: string;
  agent: string;
  created_at: string;
}

/** The newest denied actions, newest first. Those that a block denied do not count. */
export async function listDenials(ledger: Ledger, limit: number): Promise<Denial[]> {
  const rows = await ledger.all(
    `SELECT session_id, agent, created_at FROM actions
      WHERE project_id = ? AND status = 'blocked'
        AND json_extract(decision, '$.rule.source') IS NOT 'auto-block'
      ORDER BY seq DESC LIMIT ?`,
    [ledger.project_id, limit],
  );
  return rows as unknown as Denial[];
}

/** How many actions of critical risk a session has submitted since then that nobody approved. */
export async function countCritical(
  ledger: Ledger,
  session_id: string,
  since: string,
): Promise<number> {
  const rows = await ledger.all(
    `SELECT count(*) AS n FROM actions
      WHERE json_extract(risk, '$.level') = 'critical' AND project_id = ? AND session_id = ?
        AND created_at > ? AND status NOT IN ('approved', 'rolled_back')
        AND json_extract(decision, '$.rule.source') IS NOT 'auto-block'`,
    [ledger.project_id, session_id, since],
  );
  return Number(rows[0]?.n ?? 0);
}
