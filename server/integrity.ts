import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { checkIntegrity } from "./db/integrity.ts";

/** A database of a home, and what is wrong with it; null when it is sound. */
export interface CheckedDatabase {
  path: string;
  fault: string | null;
}

/** Reads every database of a home from end to end, read-only: for a process of its own. */
export function* checkDatabases(home: string): Generator<CheckedDatabase> {
  for (const path of databasesOf(home)) yield { path, fault: checkIntegrity(path) };
}

function databasesOf(home: string): string[] {
  const projects = join(home, "projects");
  const ids = existsSync(projects) ? readdirSync(projects).sort() : [];
  // Never owner.db: closing it would free the lock of whoever owns the folder.
  return [join(home, "gate.db"), ...ids.map((id) => join(projects, id, "ledger.db"))]
    .filter((path) => existsSync(path));
}
