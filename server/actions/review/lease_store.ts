import type { Ledger, Statement } from "../../db/ledger.ts";
import { OF_SESSION } from "../../db/projections.ts";
import { type ActionRow, COLUMNS, toRow } from "../store.ts";
import { sqlNames } from "../tools.ts";

const LEASES = `tool IN (${sqlNames(({ leases }) => leases)})`;
const MOST = 20;

/** Whether a session has ever submitted a plan. */
export async function hasLease(ledger: Ledger, session_id: string): Promise<boolean> {
  const rows = await ledger.all(
    `SELECT 1 FROM ${OF_SESSION} WHERE ${LEASES} LIMIT 1`,
    [ledger.project_id, session_id],
  );
  return rows.length > 0;
}

/** The approved plans of a session, newest first. */
export async function listLeases(ledger: Ledger, session_id: string): Promise<ActionRow[]> {
  const rows = await ledger.all(
    `SELECT ${COLUMNS} FROM ${OF_SESSION} WHERE ${LEASES} AND status = 'approved'
      ORDER BY place DESC LIMIT ${MOST}`,
    [ledger.project_id, session_id],
  );
  return rows.map(toRow);
}

/** A condition: so many steps of the plan were taken. */
export function whileUsed(project_id: string, id: string, count: number): Statement {
  return {
    sql: `(SELECT count(*) FROM audit WHERE project_id = ? AND action_id = ?
      AND type = 'lease.used') = ?`,
    args: [project_id, id, count],
  };
}
