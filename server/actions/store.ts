import type { HeldRoute } from "../approval_routes/schema.ts";
import type { Ledger, Row, Statement, Value } from "../db/ledger.ts";
import type { Analysis } from "../policy/schema.ts";
import { ownActions } from "../db/machines.ts";
import { OPEN_ACTION } from "../db/ledger_migrations.ts";
import { OF_SESSION } from "../db/projections.ts";
import { jsonText } from "../db/texts.ts";
import type { Plan } from "./plan.ts";
import type { Action } from "./schema.ts";
import { sqlNames, toolOf } from "./tools.ts";

/** The agent's version of an action that a reviewer edited. */
interface Proposed {
  content_sha256: string | null;
  command: string | null;
  digest: string;
  /** The rest of what its digest covers, apart from what an edit keeps. */
  held?: Pick<Plan, "changes" | "scripts" | "accesses" | "programs">;
}

/** An action with the internal fields for its execution, its views and its rollback. */
export interface ActionRow extends Omit<Action, "title" | "moved_to"> {
  plan: Plan | null;
  analysis: Analysis | null;
  proposed: Proposed | null;
  /** The approval route under which it was held; null for one person's approval. */
  route: HeldRoute | null;
  /** A fresh id for each transition. The writer that finds its own id here has won. */
  decision_id: string | null;
  /** Names the one execution. */
  claim_id: string | null;
  claimed_by: string | null;
  started_at: string | null;
  finished_at: string | null;
  output_sha256: string | null;
  output_truncated: boolean | null;
  duration_ms: number | null;
}

/** A new action: the insert assigns its number. */
export type NewRow = Omit<ActionRow, "seq">;

/** The fields of the public record. */
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
  "lines",
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
] as const satisfies (keyof Action & keyof ActionRow)[];
const OWN = [
  "analysis",
  "proposed",
  "route",
  "decision_id",
  "claim_id",
  "claimed_by",
  "started_at",
  "finished_at",
  "output_sha256",
  "output_truncated",
  "duration_ms",
] as const satisfies (keyof ActionRow)[];
/** The columns of an `ActionRow`. */
export const COLUMNS = [...PUBLIC, ...OWN, "input AS plan"].join(", ");
/** The title of a plan and the new path of a move, as columns of their own. */
export const NAMED = `CASE WHEN actions.tool IN (${sqlNames(({ leases }) => leases)})
  THEN json_extract(actions.input, '$.lease.title') END AS title,
  CASE WHEN actions.tool IN (${sqlNames(({ shows }) => shows === "two_paths")})
  THEN json_extract(actions.input, '$.accesses[0].target.shown') END AS moved_to`;
/** The tools that the gate executes itself. */
const BY_GATE = sqlNames(({ executor }) => executor === "gate");

const JSON_COLUMNS = new Set([
  "decision",
  "risk",
  "reversibility",
  "conflicts",
  "analysis",
  "proposed",
  "route",
  "lines",
  "plan",
]);
const BOOLEANS = new Set(["reversible", "edited", "output_truncated"]);

/** The fields that an update may set, under their names in the record. */
export type Fields = Partial<Omit<ActionRow, "id" | "seq" | "project_id">>;

/** A condition on the current row. The update happens only while all of it holds. */
export interface Precondition {
  status?: Action["status"];
  execution?: Action["execution"][];
  digest?: string;
  claim_id?: string;
  /** The last transition that was seen: nothing else has changed the action since. */
  decision_id?: string | null;
  /** The deadline is later than this time, or there is none. */
  unexpired_at?: string;
}

/** Inserts an action with the next number and returns that number, if `only` holds. */
export function insertAction(row: NewRow, only?: Statement): Statement {
  const fields = Object.entries(row);
  const names = fields.map(([name]) => columnOf(name)).join(", ");
  const marks = fields.map(() => "?").join(", ");
  return {
    sql: `INSERT INTO actions (${names}, number, seq) SELECT ${marks}, place, place
      FROM (SELECT coalesce(max(number), 0) + 1 AS place FROM actions)
      ${only ? `WHERE ${only.sql}` : ""} RETURNING seq`,
    args: [...fields.map(([name, value]) => toValue(name, value)), ...only?.args ?? []],
  };
}

/** A condition: this session has no open action with the same digest. */
export function unlessTwin(project_id: string, of: TwinQuery): Statement {
  const twin = twinOf(project_id, of);
  return { sql: `NOT EXISTS (${twin.sql})`, args: twin.args };
}

/** Two submissions of one session with the same digest since this time are twins. */
export interface TwinQuery {
  session_id: string;
  digest: string;
  since: string;
}

/** Updates an action and returns the row, if the precondition holds. */
export function updateAction(
  project_id: string,
  id: string,
  fields: Fields,
  from: Precondition,
  returning: string = COLUMNS,
): Statement {
  const set = Object.entries(fields);
  const conditions = conditionsOf(from);
  return {
    sql: `UPDATE actions SET ${set.map(([name]) => `${columnOf(name)} = ?`).join(", ")}
      WHERE project_id = ? AND id = ?${conditions.sql} RETURNING ${returning}`,
    args: [...set.map(([name, value]) => toValue(name, value)), project_id, id, ...conditions.args],
  };
}

/** A SELECT that finds the action, or only the action that was last changed by this transition. */
export function selectExisting(project_id: string, id: string, decision_id?: string): Statement {
  const changed = decision_id === undefined ? [] : [decision_id];
  return {
    sql: `SELECT 1 FROM actions WHERE project_id = ? AND id = ?
      ${decision_id === undefined ? "" : "AND decision_id = ?"}`,
    args: [project_id, id, ...changed],
  };
}

export async function findAction(ledger: Ledger, id: string): Promise<ActionRow | null> {
  const rows = await select(ledger, "id = ?", [id]);
  return rows[0] ?? null;
}

/** The last action of the same session with the same command, before this one. */
export async function findEarlier(
  ledger: Ledger,
  { session_id, command, seq }: Pick<ActionRow, "session_id" | "command" | "seq">,
): Promise<ActionRow | null> {
  const rows = await ledger.all(
    `SELECT ${COLUMNS} FROM ${OF_SESSION} WHERE place < ? AND place > ? AND command = ?
      ORDER BY place DESC LIMIT 1`,
    [ledger.project_id, session_id, seq, seq - LOOK_BACK, command],
  );
  return rows[0] ? toRow(rows[0]) : null;
}

/** An earlier run further back than this is not looked for. */
const LOOK_BACK = 1_000;

export async function findTwin(ledger: Ledger, of: TwinQuery): Promise<ActionRow | null> {
  const twin = twinOf(ledger.project_id, of);
  const [found] = await ledger.all(`${twin.sql} LIMIT 1`, twin.args);
  return found ? await findAction(ledger, String(found.id)) : null;
}

/** A command is in its row twice. The database knows the length without reading the text. */
const HELD_BYTES = "coalesce(bytes, 0) + coalesce(octet_length(command), 0) + " +
  "CASE WHEN path IS NULL THEN coalesce(octet_length(input), 0) ELSE 0 END";

/** The bytes that an action adds to those that wait. */
export function heldBytes(
  { bytes, path, command, plan }: Pick<ActionRow, "bytes" | "path" | "command" | "plan">,
): number {
  const input = path === null && plan ? Buffer.byteLength(JSON.stringify(plan)) : 0;
  return (bytes ?? 0) + Buffer.byteLength(command ?? "") + input;
}

/**
 * How much waits for a person, apart from open twins of the new action. The bytes are new contents,
 * and the texts of commands and of other tools' inputs.
 */
export async function countHeld(
  ledger: Ledger,
  { session_id, digest }: Pick<ActionRow, "session_id" | "digest">,
): Promise<{ in_project: number; in_session: number; bytes: number }> {
  const [row] = await ledger.all(
    `SELECT count(*) AS in_project, coalesce(sum(session_id = ?), 0) AS in_session,
      coalesce(sum(CASE WHEN session_id = ? THEN ${HELD_BYTES} END), 0) AS bytes
      FROM actions INDEXED BY actions_unfinished WHERE project_id = ? AND status = 'pending'
        AND NOT (session_id = ? AND digest = ?)`,
    [session_id, session_id, ledger.project_id, session_id, digest],
  );
  const { in_project, in_session, bytes } = row!;
  return {
    in_project: Number(in_project),
    in_session: Number(in_session),
    bytes: Number(bytes),
  };
}

/** The ids of the held actions of a session, or of all, oldest first. */
export async function listHeld(ledger: Ledger, session_id?: string): Promise<string[]> {
  const only = session_id === undefined ? [] : [session_id];
  const rows = await ledger.all(
    `SELECT id FROM actions INDEXED BY actions_unfinished WHERE project_id = ? AND status = 'pending'
      ${session_id === undefined ? "" : "AND session_id = ?"} ORDER BY seq LIMIT 10000`,
    [ledger.project_id, ...only],
  );
  return rows.map(({ id }) => String(id));
}

/** Held actions of this machine whose deadline has passed, oldest first. */
export function listDue(ledger: Ledger, now: string): Promise<ActionRow[]> {
  return select(
    ledger,
    `status = 'pending' AND expires_at <= ?${ownActions(ledger)}`,
    [now],
    "ORDER BY seq LIMIT 100",
    "actions INDEXED BY actions_unfinished",
  );
}

/** The earliest deadline of a held action of this machine. */
export async function nextDeadline(ledger: Ledger): Promise<string | null> {
  const [row] = await ledger.all(
    "SELECT min(expires_at) AS at FROM actions INDEXED BY actions_unfinished " +
      `WHERE project_id = ? AND status = 'pending'${ownActions(ledger)}`,
    [ledger.project_id],
  );
  return row?.at ? String(row.at) : null;
}

/** Actions whose execution is running on this machine, oldest first. */
export function listRunning(ledger: Ledger): Promise<ActionRow[]> {
  return select(
    ledger,
    `execution = 'running'${ownActions(ledger)}`,
    [],
    "ORDER BY seq LIMIT 10000",
    "actions INDEXED BY actions_unfinished",
  );
}

/** A session's actions whose execution is running, newest first. */
export function listRunningOf(ledger: Ledger, session_id: string): Promise<ActionRow[]> {
  return select(
    ledger,
    "execution = 'running' AND session_id = ?",
    [session_id],
    "ORDER BY seq DESC LIMIT 200",
    "actions INDEXED BY actions_unfinished",
  );
}

/** Approved actions that the gate of this machine executes and has not started. */
export function listUnstarted(ledger: Ledger): Promise<ActionRow[]> {
  return select(
    ledger,
    `status = 'approved' AND execution = 'none' AND tool IN (${BY_GATE})${ownActions(ledger)}`,
    [],
    "ORDER BY seq LIMIT 10000",
    // Without the hint SQLite scans the index by status: everything that was ever approved.
    "actions INDEXED BY actions_unstarted",
  );
}

export function toRow(row: Row): ActionRow {
  return valuesOf(row) as unknown as ActionRow;
}

/** The public record that a list reads, with the columns of `PUBLIC` and `NAMED`. */
export function toListed(row: Row): Action {
  return valuesOf(row) as unknown as Action;
}

function valuesOf(row: Row): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const name in row) found[name] = fromValue(name, row[name]!);
  return found;
}

/** The public record. */
export function publicOf(row: ActionRow): Action {
  const isMove = toolOf(row.tool).shows === "two_paths";
  const found: Record<string, unknown> = {
    title: row.plan?.lease?.title ?? null,
    moved_to: isMove ? row.plan?.accesses[0]?.target.shown ?? null : null,
  };
  for (const name of PUBLIC) found[name] = row[name];
  return found as unknown as Action;
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

/** An approved action that nobody has claimed is open too: its agent may have lost sight of it. */
function twinOf(project_id: string, { session_id, digest, since }: TwinQuery): Statement {
  return {
    sql: `SELECT id FROM actions WHERE project_id = ? AND digest = ? AND session_id = ?
      AND created_at >= ? AND ${OPEN_ACTION}
      AND (status = 'pending' OR (tool NOT IN (${BY_GATE}) AND decided_by <> 'policy'))`,
    args: [project_id, digest, session_id, since],
  };
}

function conditionsOf(from: Precondition): Statement {
  const parts: Statement[] = [];
  if (from.status) parts.push({ sql: "status = ?", args: [from.status] });
  if (from.execution) {
    const marks = from.execution.map(() => "?").join(", ");
    parts.push({ sql: `execution IN (${marks})`, args: from.execution });
  }
  if (from.digest) parts.push({ sql: "digest = ?", args: [from.digest] });
  if (from.claim_id) parts.push({ sql: "claim_id = ?", args: [from.claim_id] });
  if (from.decision_id !== undefined) {
    parts.push({ sql: "decision_id IS ?", args: [from.decision_id] });
  }
  if (from.unexpired_at) {
    parts.push({ sql: "(expires_at IS NULL OR expires_at > ?)", args: [from.unexpired_at] });
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
  // Older releases recorded decisions without a sandbox.
  if (name === "decision") return { sandbox: null, ...JSON.parse(String(value)) };
  if (JSON_COLUMNS.has(name)) return JSON.parse(String(value));
  return BOOLEANS.has(name) ? value === 1 : value;
}
