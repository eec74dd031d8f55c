import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { Database } from "../db/database.ts";
import { listLedgerChanges } from "./store.ts";

/** What one ledger remembers of the changes of the proof. */
export interface Memory {
  project_id: string;
  changes: unknown[];
}

/** What each ledger of this home remembers, without opening it as a project. */
export async function* readMemories(
  home: string,
  isKnown: (project_id: string) => boolean,
): AsyncGenerator<Memory> {
  const folder = join(home, "projects");
  for (const project_id of existsSync(folder) ? readdirSync(folder).toSorted() : []) {
    const path = join(folder, project_id, "ledger.db");
    if (isKnown(project_id) || !existsSync(path)) continue;
    const changes = await readChanges(path, project_id);
    if (changes.length > 0) yield { project_id, changes };
  }
}

/** A ledger that cannot be read here is compared when its project opens. */
async function readChanges(path: string, project_id: string): Promise<unknown[]> {
  try {
    const database = await Database.open(path, { busy_limit_ms: 1_000 });
    try {
      return await listLedgerChanges(database, project_id);
    } finally {
      await database.close();
    }
  } catch {
    return [];
  }
}
