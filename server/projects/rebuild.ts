import { existsSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { saveConfig } from "../config/store.ts";
import { MACHINE } from "../config/config_text.ts";
import type { Environment } from "../environment.ts";
import { Database } from "../db/database.ts";
import type { Statement } from "../db/ledger.ts";
import { readKeptWorkspaces } from "../workspaces/kept.ts";
import { insertMember, insertWorkspace } from "../workspaces/store.ts";
import { MACHINE_ID } from "../constants.ts";
import { MACHINE_NAME } from "./machine.ts";
import { insertProject, insertRoot, listLedgerRoots, setAwake } from "./store.ts";

/**
 * The statements that restore a lost registry: each project with the folders of its sessions, from
 * its ledger, and the workspaces, from the file beside the registry. Skips an unreadable ledger;
 * registering its folder adds the project again.
 */
export async function rebuildRegistry(
  home: string,
  { at, log }: { at: string; log: Environment["log"] },
): Promise<Statement[]> {
  const folder = join(home, "projects");
  const ids = existsSync(folder) ? readdirSync(folder).toSorted() : [];
  const statements: Statement[] = [];
  // Nobody knows any more which configs a person accepted, so what they loosen waits.
  if (ids.length > 0) statements.push(...[MACHINE, ...ids].map(forgetConfig));
  for (const id of ids) {
    const path = join(folder, id, "ledger.db");
    if (id === MACHINE_ID && existsSync(path)) {
      statements.push(insertProject(id, MACHINE_NAME, at), setAwake(id, true));
      continue;
    }
    const roots = existsSync(path) ? await readRoots(path, id) : [];
    const first = roots[0];
    if (first === undefined) continue;
    statements.push(
      insertProject(id, basename(first) || first, at),
      ...roots.map((root) => insertRoot(id, root, { at })),
      // Opens the project at the start, so that its pending actions are visible.
      setAwake(id, true),
    );
  }
  return [...statements, ...rebuildWorkspaces(home, at, log)];
}

/** Includes projects without a ledger by name, so that registering their folder restores them. */
function rebuildWorkspaces(home: string, at: string, log: Environment["log"]): Statement[] {
  try {
    return readKeptWorkspaces(home).flatMap(({ projects, ...workspace }) => [
      insertWorkspace(workspace, Number.MAX_SAFE_INTEGER),
      ...projects.flatMap(({ project_id, name }) => [
        insertProject(project_id, name, at),
        insertMember(workspace.id, project_id, at),
      ]),
    ]);
  } catch (error) {
    log("warn", "Cannot restore the workspaces: create them again", { error: String(error) });
    return [];
  }
}

function forgetConfig(project_id: string): Statement {
  const seen = { sha256: "", text: "" };
  const none = { accepted: null, changed_at: null, machine_sha256: null };
  return saveConfig({ project_id, seen, ...none });
}

async function readRoots(path: string, project_id: string): Promise<string[]> {
  try {
    const database = await Database.open(path);
    try {
      return (await listLedgerRoots(database, project_id)).filter((root) => existsSync(root));
    } finally {
      await database.close();
    }
  } catch {
    return [];
  }
}
