import type { Database } from "../db/database.ts";
import type { Statement } from "../db/ledger.ts";
import type { KeptWorkspace } from "./kept.ts";
import type { Workspace } from "./schema.ts";

// Omits a forgotten project until it is registered again.
const SELECT = `SELECT w.workspace_id, w.name, w.created_at,
  (SELECT json_group_array(project_id) FROM
    (SELECT project_id FROM workspace_projects m WHERE m.workspace_id = w.workspace_id
      AND EXISTS (SELECT 1 FROM roots r WHERE r.project_id = m.project_id) ORDER BY m.rowid))
    AS project_ids
  FROM workspaces w`;

export async function listWorkspaces(registry: Database): Promise<Workspace[]> {
  return (await registry.all(`${SELECT} ORDER BY w.workspace_id`)).map(toWorkspace);
}

export async function findWorkspace(registry: Database, id: string): Promise<Workspace | null> {
  const rows = await registry.all(`${SELECT} WHERE w.workspace_id = ?`, [id]);
  return rows[0] ? toWorkspace(rows[0]) : null;
}

/** Everything that restores the workspaces, including forgotten projects. */
export async function listToKeep(registry: Database): Promise<KeptWorkspace[]> {
  const rows = await registry.all(`SELECT w.workspace_id, w.name, w.created_at,
    (SELECT json_group_array(json_object('project_id', project_id, 'name', name)) FROM
      (SELECT p.project_id, p.name FROM workspace_projects m JOIN projects p USING (project_id)
        WHERE m.workspace_id = w.workspace_id ORDER BY m.rowid)) AS projects
    FROM workspaces w ORDER BY w.workspace_id`);
  return rows.map((row) => ({
    id: String(row.workspace_id),
    name: String(row.name),
    created_at: String(row.created_at),
    projects: JSON.parse(String(row.projects)),
  }));
}

/** Returns a row only if the id is new and fewer than `most` workspaces exist. */
export function insertWorkspace(
  { id, name, created_at }: Omit<Workspace, "project_ids">,
  most: number,
): Statement {
  return {
    sql: `INSERT INTO workspaces (workspace_id, name, created_at)
      SELECT ?, ?, ? WHERE (SELECT count(*) FROM workspaces) < ?
      ON CONFLICT DO NOTHING RETURNING workspace_id`,
    args: [id, name, created_at, most],
  };
}

/** Deletes the workspace and keeps its projects. */
export function removeWorkspace(id: string): Statement[] {
  return [
    { sql: "DELETE FROM workspace_projects WHERE workspace_id = ?", args: [id] },
    { sql: "DELETE FROM workspaces WHERE workspace_id = ? RETURNING workspace_id", args: [id] },
  ];
}

/** Adds nothing when the workspace no longer exists. */
export function insertMember(id: string, project_id: string, at: string): Statement {
  return {
    sql: `INSERT INTO workspace_projects (workspace_id, project_id, added_at)
      SELECT workspace_id, ?, ? FROM workspaces WHERE workspace_id = ? ON CONFLICT DO NOTHING`,
    args: [project_id, at, id],
  };
}

export function removeMember(id: string, project_id: string): Statement {
  return {
    sql: `DELETE FROM workspace_projects WHERE workspace_id = ? AND project_id = ?
      RETURNING project_id`,
    args: [id, project_id],
  };
}

function toWorkspace(row: Record<string, unknown>): Workspace {
  return {
    id: String(row.workspace_id),
    name: String(row.name),
    created_at: String(row.created_at),
    project_ids: JSON.parse(String(row.project_ids)),
  };
}
