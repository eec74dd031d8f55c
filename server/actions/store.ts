import type { Ledger, Row, Statement, Value } from "../db/ledger.ts";
import type { Analysis } from "../policy/schema.ts";
import { jsonText } from "../db/texts.ts";
import type { Plan } from "./plan.ts";
import type { Action } from "./schema.ts";

/** What the agent had asked for, where a reviewer changed it. */
export interface Proposed {
  content_sha256: string | null;
  command: string | null;
  digest: string;
}

/** An action with what is needed to carry it out, to show it and to undo it. */
export interface ActionRow extends Action {
  plan: Plan | null;
  analysis: Analysis | null;
  proposed: Proposed | null;
  /** Stands for the last conditional change of status: who finds its own here has won. */
  decision_id: string | null;
  /** Stands for the one execution. */
  claim_id: string | null;
  claimed_by: string | null;
  started_at: string | null;
  finished_at: string | null;
  output_sha256: string | null;
  output_truncated: boolean | null;
  duration_ms: number | null;
}

/** The fields of the record that everybody may see. */
export const PUBLIC = [
  "id",
  "seq",
  "project_id",
  "root",
  "session_id",
  "agent",
  "tool",
  "path",
  "command",
  "cwd",
  "status",
  "execution",
  "decision",
  "risk",
  "reversible",
  "reversibility",
  "edited",
  "conflicts",
  "before_sha256",
  "after_sha256",
  "bytes",
  "digest",
  "replay_of",
  "rollback_of",
  "created_at",
  "decided_at",
  "expires_at",
  "decided_by",
  "reason",
  "exit_code",
  "error",
] as const satisfies (keyof Action)[];
const OWN = [
  "analysis",
  "proposed",
  "decision_id",
  "claim_id",
  "claimed_by",
  "started_at",
  "finished_at",
  "output_sha256",
  "output_truncated",
  "duration_ms",
] as const satisfies (keyof ActionRow)[];
/** Everything that an `ActionRow` is made of. */
export const COLUMNS = [...PUBLIC, ...OWN, "input AS plan"].join(", ");
const JSON_COLUMNS = new Set([
  "decision",
  "risk",
  "reversibility",
  "conflicts",
  "analysis",
  "proposed",
  "plan",
]);
const BOOLEANS = new Set(["reversible", "edited", "output_truncated"]);

/** Fields of an action that can be set, by their names in the record. */
export type Fields = Partial<Omit<ActionRow, "id" | "seq" | "project_id">>;

/** What must hold of the row for a change of it to happen. */
export interface Guard {
  status?: Action["status"];
  execution?: Action["execution"][];
  digest?: string;
  claim_id?: string;
  /** Only before its deadline. */
  unexpired_at?: string;
}

/** Inserts an action with the next number, which comes back; `only` adds a condition to be met. */
export function insertAction(row: Omit<ActionRow, "seq">, only?: Statement): Statement {
  const fields = Object.entries(row);
  const names = fields.map(([name]) => columnOf(name)).join(", ");
  const marks = fields.map(() => "?").join(", ");
  return {
    sql: `INSERT INTO actions (${names}, seq) SELECT ${marks},
      (SELECT coalesce(max(seq), 0) + 1 FROM actions WHERE project_id = ?)
      ${only ? `WHERE ${only.sql}` : ""} RETURNING seq`,
    args: [
      ...fields.map(([name, value]) => toValue(name, value)),
      row.project_id,
      ...only?.args ?? [],
    ],
  };
}

/** The inserted action, as it can be read from now on; null where its condition was not met. */
export function toInserted(
  row: Omit<ActionRow, "seq">,
  returned: Row | undefined,
): ActionRow | null {
  return returned ? { ...row, seq: Number(returned.seq) } : null;
}

/** Holds while no open action of this agent has the same digest. */
export function unlessTwin(project_id: string, of: TwinQuery): Statement {
  const twin = twinOf(project_id, of);
  return { sql: `NOT EXISTS (${twin.sql})`, args: twin.args };
}

/** What makes two submissions the same. */
export interface TwinQuery {
  agent: string;
  digest: string;
  since: string;
}

/** Changes one action where the guard holds; the changed row comes back, or none. */
export function updateAction(
  project_id: string,
  id: string,
  fields: Fields,
  guard: Guard,
): Statement {
  const set = Object.entries(fields);
  const conditions = guardOf(guard);
  return {
    sql: `UPDATE actions SET ${set.map(([name]) => `${columnOf(name)} = ?`).join(", ")}
      WHERE project_id = ? AND id = ?${conditions.sql} RETURNING ${COLUMNS}`,
    args: [...set.map(([name, value]) => toValue(name, value)), project_id, id, ...conditions.args],
  };
}

/** Finds the action only where this decision, or this execution, is the one that stands. */
export function whereStands(
  project_id: string,
  id: string,
  token: { decision_id: string } | { claim_id: string },
): Statement {
  const [name, value] = Object.entries(token)[0]!;
  return {
    sql: `SELECT 1 FROM actions WHERE project_id = ? AND id = ? AND ${name} = ?`,
    args: [project_id, id, value],
  };
}

export async function findAction(ledger: Ledger, id: string): Promise<ActionRow | null> {
  const rows = await select(ledger, "id = ?", [id]);
  return rows[0] ?? null;
}

export async function findTwin(ledger: Ledger, of: TwinQuery): Promise<ActionRow | null> {
  const twin = twinOf(ledger.project_id, of);
  const [found] = await ledger.all(`${twin.sql} LIMIT 1`, twin.args);
  return found ? await findAction(ledger, String(found.id)) : null;
}

export async function countPending(ledger: Ledger): Promise<number> {
  const [row] = await ledger.all(
    "SELECT count(*) AS n FROM actions WHERE project_id = ? AND status = 'pending'",
    [ledger.project_id],
  );
  return Number(row?.n ?? 0);
}

/** Pending actions whose deadline has come, oldest first. */
export function listDue(ledger: Ledger, now: string): Promise<ActionRow[]> {
  return select(ledger, "status = 'pending' AND expires_at <= ?", [now], "ORDER BY seq LIMIT 100");
}

/** The next deadline of a pending action. */
export async function nextDeadline(ledger: Ledger): Promise<string | null> {
  const [row] = await ledger.all(
    "SELECT min(expires_at) AS at FROM actions WHERE project_id = ? AND status = 'pending'",
    [ledger.project_id],
  );
  return row?.at ? String(row.at) : null;
}

/** Executions that have begun and not ended. */
export function listRunning(ledger: Ledger): Promise<ActionRow[]> {
  return select(ledger, "execution = 'running'", [], "ORDER BY seq LIMIT 10000");
}

/** What of a session has begun and not ended, the newest first. */
export function listRunningOf(ledger: Ledger, session_id: string): Promise<ActionRow[]> {
  return select(
    ledger,
    "execution = 'running' AND session_id = ?",
    [session_id],
    "ORDER BY seq DESC LIMIT 200",
    "actions INDEXED BY actions_unfinished",
  );
}

/** Approved, to be done by the gate itself, and not begun. */
export function listUnstarted(ledger: Ledger): Promise<ActionRow[]> {
  return select(
    ledger,
    `status = 'approved' AND execution = 'none' AND tool IN
      ('write_file', 'edit_file', 'delete_file', 'move_file', 'read_file', 'rollback')`,
    [],
    "ORDER BY seq LIMIT 10000",
    // By itself SQLite takes the index by status, and looks at everything that was ever approved.
    "actions INDEXED BY actions_unstarted",
  );
}

export function toRow(row: Row): ActionRow {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, fromValue(name, value)]),
  ) as unknown as ActionRow;
}

/** The record as everybody may see it. */
export function publicOf(row: ActionRow): Action {
  return Object.fromEntries(PUBLIC.map((name) => [name, row[name]])) as unknown as Action;
}

async function select(
  ledger: Ledger,
  conditions: string,
  args: Value[],
  order = "",
  from = "actions",
): Promise<ActionRow[]> {
  const rows = await ledger.all(
    `SELECT ${COLUMNS} FROM ${from} WHERE project_id = ? AND ${conditions} ${order}`,
    [ledger.project_id, ...args],
  );
  return rows.map(toRow);
}

/** What is approved and not begun elsewhere is open too: its agent may have lost sight of it. */
function twinOf(project_id: string, { agent, digest, since }: TwinQuery): Statement {
  return {
    sql: `SELECT id FROM actions WHERE project_id = ? AND digest = ? AND agent = ?
      AND created_at >= ? AND (status = 'pending' OR (status = 'approved' AND execution = 'none'
        AND tool NOT IN ('write_file', 'edit_file', 'delete_file', 'move_file', 'read_file',
          'rollback') AND decided_by <> 'policy'))`,
    args: [project_id, digest, agent, since],
  };
}

function guardOf(guard: Guard): Statement {
  const parts: Statement[] = [];
  if (guard.status) parts.push({ sql: "status = ?", args: [guard.status] });
  if (guard.execution) {
    const marks = guard.execution.map(() => "?").join(", ");
    parts.push({ sql: `execution IN (${marks})`, args: guard.execution });
  }
  if (guard.digest) parts.push({ sql: "digest = ?", args: [guard.digest] });
  if (guard.claim_id) parts.push({ sql: "claim_id = ?", args: [guard.claim_id] });
  if (guard.unexpired_at) {
    parts.push({ sql: "(expires_at IS NULL OR expires_at > ?)", args: [guard.unexpired_at] });
  }
  return {
    sql: parts.map(({ sql }) => ` AND ${sql}`).join(""),
    args: parts.flatMap(({ args }) => args),
  };
}

function columnOf(name: string): string {
  return name === "plan" ? "input" : name;
}

function toValue(name: string, value: unknown): Value {
  if (value === null || value === undefined) return null;
  if (JSON_COLUMNS.has(name)) return jsonText(value);
  return BOOLEANS.has(name) ? Number(value) : value as Value;
}

function fromValue(name: string, value: Value): unknown {
  if (value === null) return null;
  if (JSON_COLUMNS.has(name)) return JSON.parse(String(value));
  return BOOLEANS.has(name) ? value === 1 : value;
}
