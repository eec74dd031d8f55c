import { RARE } from "../db/ledger_migrations.ts";
import { ownActions } from "../db/machines.ts";
import type { Database } from "../db/database.ts";
import type { Ledger, Statement } from "../db/ledger.ts";
import { sqlNames } from "../actions/tools.ts";
import { MACHINE_ID } from "../constants.ts";

/** A project in the registry. */
export interface Registered {
  project_id: string;
  name: string;
  roots: string[];
  last_activity_at: string | null;
  is_awake: boolean;
  /** Whether the index covers the actions that the ledger held before. */
  is_indexed: boolean;
  workspace_ids: string[];
}

const SELECT = `SELECT p.project_id, p.name, p.last_activity_at, p.is_awake, p.is_indexed,
  (SELECT json_group_array(root) FROM
    (SELECT root FROM roots r WHERE r.project_id = p.project_id ORDER BY r.rowid)) AS roots,
  (SELECT json_group_array(workspace_id) FROM (SELECT workspace_id FROM workspace_projects w
    WHERE w.project_id = p.project_id ORDER BY w.workspace_id)) AS workspace_ids
  FROM projects p WHERE (p.project_id = '${MACHINE_ID}'
    OR EXISTS (SELECT 1 FROM roots r WHERE r.project_id = p.project_id))`;

export async function listRegistered(registry: Database): Promise<Registered[]> {
  return (await registry.all(`${SELECT} ORDER BY p.project_id`)).map(toRegistered);
}

export async function findRegistered(
  registry: Database,
  project_id: string,
): Promise<Registered | null> {
  const rows = await registry.all(`${SELECT} AND p.project_id = ?`, [project_id]);
  return rows[0] ? toRegistered(rows[0]) : null;
}

/** A project whose id differs only in upper and lower case. */
export async function findTwin(registry: Database, project_id: string): Promise<string | null> {
  const rows = await registry.all(
    "SELECT project_id FROM projects WHERE project_id = ?1 COLLATE NOCASE AND project_id <> ?1",
    [project_id],
  );
  return rows[0] ? String(rows[0].project_id) : null;
}

export function insertProject(project_id: string, name: string, at: string): Statement {
  return {
    sql: `INSERT INTO projects (project_id, name, registered_at) VALUES (?, ?, ?)
      ON CONFLICT DO NOTHING`,
    args: [project_id, name, at],
  };
}

export function insertRoot(
  project_id: string,
  root: string,
  { at, proof = null }: { at: string; proof?: unknown },
): Statement {
  return {
    sql: `INSERT INTO roots (project_id, root, added_at, proof) VALUES (?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET proof = coalesce(excluded.proof, proof)`,
    args: [project_id, root, at, proof === null ? null : JSON.stringify(proof)],
  };
}

/** The proof with which a person added each folder of a project; null for one without. */
export async function listRootProofs(
  registry: Database,
  project_id: string,
): Promise<Map<string, string | null>> {
  const rows = await registry.all("SELECT root, proof FROM roots WHERE project_id = ?", [
    project_id,
  ]);
  return new Map(rows.map(({ root, proof }) => [
    String(root),
    proof === null ? null : String(proof),
  ]));
}

export function removeRoot(project_id: string, root: string): Statement {
  return { sql: "DELETE FROM roots WHERE project_id = ? AND root = ?", args: [project_id, root] };
}

/** Removes every root of a project and so forgets it. Its row stays for a later registration. */
export function removeRoots(project_id: string): Statement {
  return { sql: "DELETE FROM roots WHERE project_id = ?", args: [project_id] };
}

export function setAwake(project_id: string, isAwake: boolean): Statement {
  return {
    sql: "UPDATE projects SET is_awake = ? WHERE project_id = ?",
    args: [isAwake ? 1 : 0, project_id],
  };
}

/** The folders of a ledger's sessions, oldest first. */
export async function listLedgerRoots(ledger: Database, project_id: string): Promise<string[]> {
  const rows = await ledger.all(
    "SELECT root FROM sessions WHERE project_id = ? GROUP BY root ORDER BY min(seq)",
    [project_id],
  );
  return rows.map(({ root }) => String(root));
}

/** The projects that may hold an action whose id begins with this prefix. */
export async function listByPrefix(registry: Database, prefix: string): Promise<string[]> {
  const rows = await registry.all(
    `SELECT project_id FROM action_times WHERE prefix = ?
      UNION SELECT project_id FROM projects WHERE is_indexed = 0`,
    [prefix],
  );
  return rows.map(({ project_id }) => String(project_id));
}

export function setIndexed(project_id: string): Statement {
  return { sql: "UPDATE projects SET is_indexed = 1 WHERE project_id = ?", args: [project_id] };
}

/** The next id in the ledger after `id`; null when there is none. */
export async function findIdAfter(ledger: Ledger, id: string): Promise<string | null> {
  const rows = await ledger.all(
    "SELECT id FROM actions WHERE project_id = ? AND id > ? ORDER BY id LIMIT 1",
    [ledger.project_id, id],
  );
  return rows[0] ? String(rows[0].id) : null;
}

export async function hasAction(ledger: Ledger, id: string): Promise<boolean> {
  const rows = await ledger.all("SELECT 1 FROM actions WHERE project_id = ? AND id = ?", [
    ledger.project_id,
    id,
  ]);
  return rows.length > 0;
}

export async function hasSession(ledger: Ledger, id: string): Promise<boolean> {
  const rows = await ledger.all("SELECT 1 FROM sessions WHERE project_id = ? AND id = ?", [
    ledger.project_id,
    id,
  ]);
  return rows.length > 0;
}

export async function countPending(ledger: Ledger): Promise<number> {
  const rows = await ledger.all(
    "SELECT count(*) AS count FROM actions INDEXED BY actions_unfinished " +
      "WHERE project_id = ? AND status = 'pending'",
    [ledger.project_id],
  );
  return Number(rows[0]?.count);
}

/**
 * Whether an action waits for its decision, for execution by the gate or for recovery; with `own` one
 * of this machine.
 */
export async function isUnfinished(
  ledger: Ledger,
  { own = false }: { own?: boolean } = {},
): Promise<boolean> {
  const only = own ? ownActions(ledger) : "";
  const rows = await ledger.all(
    `SELECT 1 FROM actions WHERE project_id = ?1
        AND (status = 'pending' OR execution = 'running')${only}
      UNION ALL SELECT 1 FROM actions INDEXED BY actions_unstarted
        WHERE project_id = ?1 AND status = 'approved' AND execution = 'none' AND tool IN
          (${sqlNames(({ executor }) => executor === "gate")})${only} LIMIT 1`,
    [ledger.project_id],
  );
  return rows.length > 0;
}

/** Whether the log names a machine with this key. */
export async function hasJoined(ledger: Ledger, public_key: string): Promise<boolean> {
  const rows = await ledger.all(
    `SELECT 1 FROM audit WHERE project_id = ? AND type = 'machine.joined' AND ${RARE.type}
      AND data ->> '$.public_key' = ?`,
    [ledger.project_id, public_key],
  );
  return rows.length > 0;
}

/** The sequence number of the newest action older than `id`, or of `id`; null if there is none. */
export async function findSeqBelow(
  ledger: Ledger,
  id: string,
  { or_same = false } = {},
): Promise<number | null> {
  const rows = await ledger.all(
    `SELECT seq FROM actions WHERE project_id = ? AND id ${or_same ? "<=" : "<"} ?
      ORDER BY id DESC LIMIT 1`,
    [ledger.project_id, id],
  );
  return rows[0] ? Number(rows[0].seq) : null;
}

function toRegistered(row: Record<string, unknown>): Registered {
  return {
    project_id: String(row.project_id),
    name: String(row.name),
    roots: JSON.parse(String(row.roots)),
    last_activity_at: row.last_activity_at as string | null,
    is_awake: row.is_awake === 1,
    is_indexed: row.is_indexed === 1,
    workspace_ids: JSON.parse(String(row.workspace_ids)),
  };
}
