import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { checkIntegrity, newerRelease } from "./db/integrity.ts";
import { LEDGER_MIGRATIONS } from "./db/ledger_migrations.ts";
import { REGISTRY_MIGRATIONS } from "./db/registry_migrations.ts";

/** The result of checking one database. */
export interface CheckedDatabase {
  path: string;
  /** The damage; null for a sound database. */
  fault: string | null;
  /** The release that changed the database so that this one cannot use it; null for none. */
  newer: string | null;
}

/** Reads every database of a home completely and read-only. Blocks, so it needs its own process. */
export function* checkDatabases(home: string): Generator<CheckedDatabase> {
  for (const path of databasesOf(home)) {
    const fault = checkIntegrity(path);
    const migrations = path === registryOf(home) ? REGISTRY_MIGRATIONS : LEDGER_MIGRATIONS;
    const newest = migrations.at(-1)!.version;
    yield { path, fault, newer: fault === null ? newerRelease(path, newest) : null };
  }
}

function registryOf(home: string): string {
  return join(home, "gate.db");
}

function databasesOf(home: string): string[] {
  const projects = join(home, "projects");
  const ids = existsSync(projects) ? readdirSync(projects).sort() : [];
  // Leaves owner.db out, because closing it would release the lock of the running daemon.
  return [registryOf(home), ...ids.map((id) => join(projects, id, "ledger.db"))]
    .filter((path) => existsSync(path));
}
