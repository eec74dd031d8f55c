import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { explain } from "./db/database.ts";
import { checkIntegrity, newerRelease } from "./db/integrity.ts";
import { LEDGER_MIGRATIONS } from "./db/ledger_migrations.ts";
import { REGISTRY_MIGRATIONS } from "./db/registry_migrations.ts";
import { GateError } from "./errors.ts";

/** The result of checking one database. */
export interface CheckedDatabase {
  path: string;
  /** The damage; null for a sound database. */
  fault: string | null;
  /** The release that changed the database so that this one cannot use it; null for none. */
  newer: string | null;
  /** Why it could not be read, and the next step; null if it was. */
  unread: { why: string; next: string | null } | null;
}

/** Reads every database of a home completely and read-only. Blocks, so it needs its own process. */
export function* checkDatabases(home: string): Generator<CheckedDatabase> {
  for (const path of databasesOf(home)) {
    const migrations = path === registryOf(home) ? REGISTRY_MIGRATIONS : LEDGER_MIGRATIONS;
    yield checkDatabase(path, migrations.at(-1)!.version);
  }
}

function checkDatabase(path: string, newest: number): CheckedDatabase {
  try {
    const fault = checkIntegrity(path);
    const newer = fault === null ? newerRelease(path, newest) : null;
    return { path, fault, newer, unread: null };
  } catch (error) {
    const failure = explain(error, path);
    const { summary = String(failure), next = null } = failure instanceof GateError
      ? failure.fields as { summary?: string; next?: string }
      : {};
    return { path, fault: null, newer: null, unread: { why: summary, next } };
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
