import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { checkIntegrity } from "./db/integrity.ts";

/** The result of checking one database. */
export interface CheckedDatabase {
  path: string;
  /** The damage; null for a sound database. */
  fault: string | null;
}

/** Reads every database of a home completely and read-only. Blocks, so it needs its own process. */
export function* checkDatabases(home: string): Generator<CheckedDatabase> {
  for (const path of databasesOf(home)) yield { path, fault: checkIntegrity(path) };
}

function databasesOf(home: string): string[] {
  const projects = join(home, "projects");
  const ids = existsSync(projects) ? readdirSync(projects).sort() : [];
  // Leaves owner.db out, because closing it would release the lock of the running daemon.
  return [join(home, "gate.db"), ...ids.map((id) => join(projects, id, "ledger.db"))]
    .filter((path) => existsSync(path));
}
