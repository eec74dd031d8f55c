import { existsSync, rmSync } from "node:fs";
import { VERSION } from "../constants.ts";
import { GateError } from "../errors.ts";
import type { LedgerDatabase } from "./database.ts";
import type { Statement } from "./ledger.ts";

/** One schema version. A released one never changes. */
export interface Migration {
  version: number;
  /**
   * An older release can go on with the database, because this version adds only what that release does
   * not use: tables, indexes and columns with a default.
   */
  is_additive?: boolean;
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
    requireAdditive(migration);
    const applies = only_if === undefined || (await database.all(only_if)).length > 0;
    await database.batch([...applies ? statements.map(plain) : [], ...record(migration, now())]);
  }
}

/** The schema of a database. */
export interface Schema {
  version: number;
  /** The oldest schema whose releases can use the database. */
  needs: number;
  /** The release that made it need that one. */
  made_by: string;
}

/**
 * The schema of the database. @throws GateError `unavailable` for one that this release cannot use,
 * because a newer one changed it
 */
export async function requireNoNewer(
  database: Pick<LedgerDatabase, "all" | "path">,
  migrations: Migration[],
): Promise<Schema> {
  const current = await schemaOf(database);
  const newest = migrations.at(-1)?.version ?? 0;
  if (current.needs > newest) throw newerError(`Cannot open "${database.path}"`, current, newest);
  return current;
}

/** The schema that a release must know after the migrations that the database still lacks. */
export function neededAfter(migrations: Migration[], { version, needs }: Schema): number {
  const pending = migrations.filter((one) => one.version > version && !one.is_additive);
  return Math.max(needs, ...pending.map((one) => one.version));
}

/** The column that tells which releases can use a version. A database before version 24 has none. */
const NEEDS = "needs";

/** SQL that is true while a release with this schema can use the database. */
export const CAN_USE =
  `NOT EXISTS (SELECT 1 FROM migrations WHERE coalesce(${NEEDS}, version) > ?)`;

/** The schema of the database; version 0 for an empty one. */
export async function schemaOf(database: Pick<LedgerDatabase, "all">): Promise<Schema> {
  const columns = await database.all("SELECT name FROM pragma_table_info('migrations')");
  const needs = columns.some(({ name }) => name === NEEDS)
    ? `coalesce(${NEEDS}, version)`
    : "version";
  const [row] = columns.length === 0 ? [] : await database.all(
    `SELECT (SELECT max(version) FROM migrations) AS version, ${needs} AS needs, made_by
      FROM migrations ORDER BY needs DESC, version LIMIT 1`,
  );
  return row
    ? { version: Number(row.version), needs: Number(row.needs), made_by: String(row.made_by) }
    : { version: 0, needs: 0, made_by: VERSION };
}

async function backUp(database: LedgerDatabase, version: number): Promise<void> {
  const target = `${database.path}.backup-${version}`;
  // An existing backup is from an attempt that did not finish, so nothing has changed since.
  if (existsSync(target)) rmSync(target);
  await database.all("VACUUM INTO ?", [target]);
}

function record(migration: Migration, now: number): Statement[] {
  const { version, is_additive } = migration;
  const at = new Date(now).toISOString();
  return [
    plain(MADE),
    {
      sql: "INSERT INTO migrations (version, made_by, at) VALUES (?, ?, ?)",
      args: [version, VERSION, at],
    },
    ...is_additive ? [{ sql: WITHOUT_NEED, args: [version] }] : [],
  ];
}

const ADDITION = /^\s*(?:CREATE (?:TABLE|INDEX)|ALTER TABLE \w+ ADD COLUMN)\b/i;

/** @throws Error for a version that says that it only adds, and does more */
function requireAdditive({ version, is_additive, statements }: Migration): void {
  if (!is_additive || statements.every((sql) => ADDITION.test(sql))) return;
  throw new Error(`schema ${version} is not additive`);
}

const WITHOUT_NEED = `UPDATE migrations SET ${NEEDS} = 0 WHERE version = ?`;

function plain(sql: string): Statement {
  return { sql, args: [] };
}

/** The refusal of a database that a newer release changed, with the release that can use it. */
export function newerError(
  cannot: string,
  { needs, made_by }: Omit<Schema, "version">,
  newest: number,
): GateError {
  const message = `${cannot}: gate ${made_by} made it (schema ${needs}), this is gate ${VERSION} ` +
    `(schema ${newest})`;
  const next = `update gate on this machine to ${made_by} or newer`;
  return new GateError("unavailable", message, { next });
}
