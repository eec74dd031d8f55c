import type { Ledger, Row, Statement } from "../db/ledger.ts";
import { RARE } from "../db/ledger_migrations.ts";
import { OF_SESSION } from "../db/projections.ts";
import type { Risk } from "../risk/schema.ts";
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

/** The blocks whose row says that they ended by now and does not say how. */
export async function listEnding(ledger: Ledger, now: string): Promise<Block[]> {
  const rows = await ledger.all(
    `SELECT ${COLUMNS} FROM blocks WHERE project_id = ? AND lifted_at IS NULL AND expires_at <= ?
      ORDER BY expires_at, id LIMIT 100`,
    [ledger.project_id, now],
  );
  return rows as unknown as Block[];
}

/** The earliest time after `now` at which a block ends; null for none. */
export async function findNextEnd(ledger: Ledger, now: string): Promise<string | null> {
  const [row] = await ledger.all(
    `SELECT min(expires_at) AS at FROM blocks
      WHERE project_id = ? AND lifted_at IS NULL AND expires_at > ?`,
    [ledger.project_id, now],
  );
  return typeof row?.at === "string" ? row.at : null;
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
      WHERE project_id = ? AND status = 'blocked' AND ${RARE.status}
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
      WHERE json_extract(risk, '$.level') = 'critical' AND ${RARE.risk} AND project_id = ? AND session_id = ?
        AND created_at > ? AND status NOT IN ('approved', 'rolled_back')
        AND json_extract(decision, '$.rule.source') IS NOT 'auto-block'`,
    [ledger.project_id, session_id, since],
  );
  return Number(rows[0]?.n ?? 0);
}

/** One recorded action, as far as remediation depends on it. */
export interface Deed {
  id: string;
  seq: number;
  session_id: string;
  tool: string;
  path: string | null;
  command: string | null;
  status: string;
  execution: string;
  decided_by: string | null;
  reversible: boolean;
  effect: string;
  /** The list of the rule that decided. */
  rule: string | null;
  reason: string;
  grant_id: string | null;
  risk: Risk;
  reads: string[];
  changes: { path: string; before: unknown; after: unknown }[];
  /** Whether guarded files changed while it ran. */
  restored: number;
}

const DEED = `id, seq, session_id, tool, path, command, status, execution, decided_by, reversible,
  json_extract(decision, '$.effect') AS effect, json_extract(decision, '$.rule.list') AS rule,
  json_extract(decision, '$.reason') AS reason, json_extract(decision, '$.grant_id') AS grant_id,
  risk, json_extract(analysis, '$.reads') AS reads, json_extract(input, '$.changes') AS changes,
  coalesce(json_array_length(input, '$.restored'), 0) AS restored`;

/** A page of the actions of a session, newest first. */
export async function listDeeds(
  ledger: Ledger,
  session_id: string,
  { before, limit }: { before: number; limit: number },
): Promise<Deed[]> {
  const rows = await ledger.all(
    `SELECT ${DEED} FROM ${OF_SESSION} WHERE place < ? ORDER BY place DESC LIMIT ?`,
    [ledger.project_id, session_id, before, limit],
  );
  return rows.map(toDeed);
}

export async function findDeed(ledger: Ledger, id: string): Promise<Deed | null> {
  const rows = await ledger.all(`SELECT ${DEED} FROM actions WHERE project_id = ? AND id = ?`, [
    ledger.project_id,
    id,
  ]);
  return rows[0] ? toDeed(rows[0]) : null;
}

/** How many later actions of anybody changed the path of this one, and still stand. */
export async function countLater(ledger: Ledger, { path, seq }: Deed): Promise<number> {
  const rows = await ledger.all(
    `SELECT count(*) AS n FROM action_index AS listed
      CROSS JOIN actions ON actions.number = listed.number
      WHERE listed.project_id = ? AND listed.name = 'path' AND listed.value = ? AND listed.seq > ?
        AND actions.status = 'approved' AND actions.execution = 'succeeded'
        AND actions.reversible`,
    [ledger.project_id, path, seq],
  );
  return Number(rows[0]?.n ?? 0);
}

function toDeed(row: Row): Deed {
  const { risk, reads, changes, reversible, ...rest } = row;
  return {
    ...rest,
    seq: Number(row.seq),
    restored: Number(row.restored),
    reversible: Boolean(reversible),
    risk: JSON.parse(String(risk)),
    reads: JSON.parse(String(reads ?? "[]")),
    changes: JSON.parse(String(changes ?? "[]")),
  } as Deed;
}
