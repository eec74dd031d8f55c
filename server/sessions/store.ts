import { ownSessions } from "../db/machines.ts";
import type { Ledger, Row, Statement, Value } from "../db/ledger.ts";
import { OF_SESSION } from "../db/projections.ts";
import type { ProcessIdentity } from "../runtime/processes.ts";
import type { ListedSession, Session, SessionQuery, SessionStatusView } from "./schema.ts";

/** A session with its sequence number in the list. Its blocks are kept apart. */
export type SessionRow = Omit<Session, "block_reason"> & { seq: number };

/** A session without what its actions change. */
export type KnownSession = Omit<
  SessionRow,
  "last_seen_at" | "action_count" | "pending_count" | "rollback_state"
>;

/** The columns that no projection fills: a query of these need not wait for one. */
const KNOWN =
  "id, seq, project_id, root, host, agent, client, started_at, ended_at, home_project, " +
  "branch";
const COLUMNS = `${KNOWN}, last_seen_at, action_count, pending_count,
  CASE WHEN rolled_back_count = 0 THEN 'none'
    WHEN rolled_back_count < done_count THEN 'partial' ELSE 'full' END AS rollback_state`;

/** The most actions in a status. The list of actions has pages. */
const STATUS_LIMIT = 10_000;

export interface NewSession extends
  Pick<
    Session,
    | "id"
    | "project_id"
    | "root"
    | "host"
    | "agent"
    | "client"
    | "started_at"
    | "home_project"
    | "branch"
  > {
  /** Null for a session that every agent may use. */
  secret_sha256: string | null;
  process: ProcessIdentity | null;
  /** The machine on which the agent works, where several share the ledger. */
  machine: string | null;
}

export function insertSession(session: NewSession): Statement {
  const { id, project_id, root, host, agent, client, started_at, secret_sha256 } = session;
  const { process, home_project, branch, machine } = session;
  return {
    sql: `INSERT INTO sessions (project_id, id, seq, root, host, agent, client, started_at,
        last_seen_at, secret_sha256, process, home_project, branch, machine)
      SELECT ?, ?, coalesce(max(seq), 0) + 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM sessions
        WHERE project_id = ?
      RETURNING ${COLUMNS}`,
    args: [
      ...[project_id, id, root, host, agent, client, started_at, started_at, secret_sha256],
      process && JSON.stringify(process),
      home_project,
      branch,
      machine,
      project_id,
    ],
  };
}

/** Ends an open session. `when` matches only the attempt with this `endId`. */
export function endSession(
  session: { project_id: string; id: string },
  endId: string,
  at: string,
): { update: Statement; when: Statement } {
  const { project_id, id } = session;
  return {
    update: {
      sql: `UPDATE sessions SET ended_at = ?, last_seen_at = ?, end_id = ?
        WHERE project_id = ? AND id = ? AND ended_at IS NULL RETURNING ${COLUMNS}`,
      args: [at, at, endId, project_id, id],
    },
    when: {
      sql: "SELECT 1 FROM sessions WHERE project_id = ? AND id = ? AND end_id = ?",
      args: [project_id, id, endId],
    },
  };
}

export async function findSession(ledger: Ledger, id: string): Promise<SessionRow | null> {
  const rows = await ledger.all(
    `SELECT ${COLUMNS} FROM sessions WHERE project_id = ? AND id = ?`,
    [ledger.project_id, id],
  );
  return rows[0] ? toSession(rows[0]) : null;
}

/** The same session without what its actions change. */
export async function findKnown(ledger: Ledger, id: string): Promise<KnownSession | null> {
  const rows = await ledger.all(
    `SELECT ${KNOWN} FROM sessions WHERE project_id = ? AND id = ?`,
    [ledger.project_id, id],
  );
  return (rows[0] ?? null) as KnownSession | null;
}

/** The newest open session without a secret of this agent, host and client. */
export async function findSharedSession(
  ledger: Ledger,
  of: Pick<Session, "agent" | "host" | "client">,
): Promise<KnownSession | null> {
  const rows = await ledger.all(
    // The index on the client is the most selective of the three.
    `SELECT ${KNOWN} FROM sessions INDEXED BY sessions_by_client
      WHERE project_id = ? AND agent = ? AND host = ? AND client = ? AND ended_at IS NULL
        AND secret_sha256 IS NULL${ownSessions(ledger)}
      ORDER BY seq DESC LIMIT 1`,
    [ledger.project_id, of.agent, of.host, of.client],
  );
  return (rows[0] ?? null) as KnownSession | null;
}

/** The newest open session with this secret. */
export async function findSessionOfSecret(
  ledger: Ledger,
  secret_sha256: string,
): Promise<KnownSession | null> {
  const rows = await ledger.all(
    `SELECT ${KNOWN} FROM sessions
      WHERE project_id = ? AND secret_sha256 = ? AND ended_at IS NULL${ownSessions(ledger)}
      ORDER BY seq DESC LIMIT 1`,
    [ledger.project_id, secret_sha256],
  );
  return (rows[0] ?? null) as KnownSession | null;
}

/** A session with what proves that it is an agent's own. */
export interface SessionProof extends
  Pick<
    Session,
    "id" | "host" | "agent" | "client" | "root" | "started_at" | "last_seen_at" | "ended_at"
  > {
  secret_sha256: string | null;
  process: ProcessIdentity | null;
}

/** The session of that id, or of the action with that id. */
export async function findProof(
  ledger: Ledger,
  { of, id }: { of: "session" | "action" | "secret"; id: string },
): Promise<SessionProof | null> {
  const condition = {
    session: "id = ?",
    action:
      "id = (SELECT session_id FROM actions WHERE project_id = sessions.project_id AND id = ?)",
    secret: "secret_sha256 = ? AND ended_at IS NULL",
  }[of];
  const [row] = await ledger.all(
    `SELECT id, host, agent, client, root, started_at, last_seen_at, ended_at, secret_sha256, process
      FROM sessions WHERE project_id = ? AND ${condition} ORDER BY seq DESC LIMIT 1`,
    [ledger.project_id, id],
  );
  if (!row) return null;
  const process = row.process === null ? null : JSON.parse(String(row.process));
  return { ...row as unknown as SessionProof, process };
}

/** The conditions of a state; a session was seen at `?` or later, or it is idle. */
const STATES = {
  open: "ended_at IS NULL AND last_seen_at >= ?",
  idle: "ended_at IS NULL AND last_seen_at < ?",
  ended: "ended_at IS NOT NULL AND ? IS NOT NULL",
} as const satisfies Record<ListedSession["state"], string>;

/** At most `limit` sessions below `before`, newest first. Those last seen before `idle_at` are idle. */
export async function listSessions(
  ledger: Ledger,
  query: Pick<SessionQuery, "agent" | "host" | "client" | "state">,
  page: { before: number; limit: number; idle_at: string },
): Promise<SessionRow[]> {
  const filters = (["agent", "host", "client"] as const).filter((name) =>
    query[name] !== undefined
  );
  const conditions = [
    ...filters.map((name) => ` AND ${name} = ?`),
    ...query.state === undefined ? [] : [` AND ${STATES[query.state]}`],
  ].join("");
  const args: Value[] = [ledger.project_id, page.before];
  const rows = await ledger.all(
    `SELECT ${COLUMNS} FROM sessions WHERE project_id = ? AND seq < ?${conditions}
      ORDER BY seq DESC LIMIT ?`,
    [
      ...[...args, ...filters.map((name) => query[name] ?? null)],
      ...query.state === undefined ? [] : [page.idle_at],
      page.limit,
    ],
  );
  return rows.map(toSession);
}

/** What lists show of the actions of a session: the first one, and the newest, oldest first. */
export async function summarizeActions(
  ledger: Ledger,
  session_id: string,
): Promise<Pick<ListedSession, "first_action"> & { newest: OutcomeRow[] }> {
  const from = `FROM ${OF_SESSION} ORDER BY place`;
  const args = [ledger.project_id, session_id];
  const [[first], newest] = await Promise.all([
    ledger.all(`SELECT tool, path, command ${from} LIMIT 1`, args),
    ledger.all(`SELECT status, decided_by, execution ${from} DESC LIMIT ?`, [
      ...args,
      MOST_OUTCOMES,
    ]),
  ]);
  return {
    first_action: (first ?? null) as ListedSession["first_action"],
    newest: newest.toReversed() as unknown as OutcomeRow[],
  };
}

/** The columns that decide an action's outcome. */
export interface OutcomeRow {
  status: string;
  decided_by: string | null;
  execution: string;
}

const MOST_OUTCOMES = 40;

export async function listActionStates(
  ledger: Ledger,
  session_id: string,
): Promise<SessionStatusView["actions"]> {
  const rows = await ledger.all(
    `SELECT id AS action_id, status, reversible FROM ${OF_SESSION} ORDER BY place DESC LIMIT ?`,
    [ledger.project_id, session_id, STATUS_LIMIT],
  );
  return rows.map((row) => ({
    action_id: String(row.action_id),
    status: String(row.status),
    reversible: row.reversible === 1,
  }));
}

export function toSession(row: Row): SessionRow {
  return row as unknown as SessionRow;
}
