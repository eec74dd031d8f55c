import { existsSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { Database } from "../db/database.ts";
import type { Statement } from "../db/ledger.ts";
import { insertProject, insertRoot, listLedgerRoots, setAwake } from "./store.ts";

/**
 * What a lost registry knew, as far as the ledgers tell: each project with the folders that its
 * sessions worked in. A ledger that cannot be read is left out; registering its folder finds it.
 */
export async function rebuildRegistry(home: string, at: string): Promise<Statement[]> {
  const folder = join(home, "projects");
  const ids = existsSync(folder) ? readdirSync(folder).toSorted() : [];
  const statements: Statement[] = [];
  for (const id of ids) {
    const path = join(folder, id, "ledger.db");
    const roots = existsSync(path) ? await readRoots(path, id) : [];
    const first = roots[0];
    if (first === undefined) continue;
    statements.push(
      insertProject(id, basename(first) || first, at),
      ...roots.map((root) => insertRoot(id, root, at)),
      // What was held in it must be seen at once.
      setAwake(id, true),
    );
  }
  return statements;
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
