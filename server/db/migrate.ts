import { existsSync, rmSync } from "node:fs";
import { VERSION } from "../constants.ts";
import { GateError } from "../errors.ts";
import type { LedgerDatabase } from "./database.ts";
import type { Statement } from "./ledger.ts";

/** One schema version. A released one never changes. */
export interface Migration {
  version: number;
  /** Without a row of this query the version changes nothing. */
  only_if?: string;
  statements: string[];
}

const MADE = `CREATE TABLE IF NOT EXISTS migrations (
  version INTEGER PRIMARY KEY,
  made_by TEXT NOT NULL,
  at TEXT NOT NULL
) STRICT`;

/**
 * Migrates the database to the newest version, each version in one batch, a file after a backup.
 * @throws GateError `unavailable` for a database of a newer release, which stays unchanged
 */
export async function migrate(
  database: LedgerDatabase,
  migrations: Migration[],
  now: () => number,
): Promise<void> {
  const current = await requireNoNewer(database, migrations);
  const newest = migrations.at(-1)?.version ?? 0;
  const isBehind = current.version > 0 && current.version < newest;
  if (isBehind && !database.is_remote) await backUp(database, current.version);
  for (const migration of migrations) {
    const { version, only_if, statements } = migration;
    if (version <= current.version) continue;
    const applies = only_if === undefined || (await database.all(only_if)).length > 0;
    await database.batch([...applies ? statements.map(plain) : [], ...record(migration, now())]);
  }
}

/** The schema of the database. @throws GateError `unavailable` for one of a newer release */
export async function requireNoNewer(
  database: Pick<LedgerDatabase, "all" | "path">,
  migrations: Migration[],
): Promise<{ version: number; made_by: string }> {
  const current = await versionOf(database);
  const newest = migrations.at(-1)?.version ?? 0;
  if (current.version > newest) throw newerError(database.path, current, newest);
  return current;
}

async function versionOf(
  database: Pick<LedgerDatabase, "all">,
): Promise<{ version: number; made_by: string }> {
  const tables = await database.all("SELECT name FROM sqlite_schema WHERE name = 'migrations'");
  if (tables.length === 0) return { version: 0, made_by: VERSION };
  const rows = await database.all(
    "SELECT version, made_by FROM migrations ORDER BY version DESC LIMIT 1",
  );
  const row = rows[0];
  return row
    ? { version: Number(row.version), made_by: String(row.made_by) }
    : { version: 0, made_by: VERSION };
}

async function backUp(database: LedgerDatabase, version: number): Promise<void> {
  const target = `${database.path}.backup-${version}`;
  // An existing backup is from an attempt that did not finish, so nothing has changed since.
  if (existsSync(target)) rmSync(target);
  await database.all("VACUUM INTO ?", [target]);
}

function record(migration: Migration, now: number): Statement[] {
  const at = new Date(now).toISOString();
  return [plain(MADE), {
    sql: "INSERT INTO migrations (version, made_by, at) VALUES (?, ?, ?)",
    args: [migration.version, VERSION, at],
  }];
}

function plain(sql: string): Statement {
  return { sql, args: [] };
}

function newerError(
  path: string,
  current: { version: number; made_by: string },
  newest: number,
): GateError {
  const message = `Cannot open "${path}": gate ${current.made_by} made it (schema ` +
    `${current.version}), this is gate ${VERSION} (schema ${newest}); install the newer release`;
  return new GateError("unavailable", message);
}
