import { existsSync, readdirSync, renameSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { Database, isDamage } from "./database.ts";
import type { Row, Value } from "./ledger.ts";
import { migrate, type Migration } from "./migrate.ts";
import { isUtf8, SCHEMA_TEXTS, TEXT_COLUMNS, textQueries } from "./texts.ts";

export interface OpenOptions {
  migrations: Migration[];
  now: () => number;
  /** Reads all texts of a large database too, in steps: several seconds for a million rows. */
  reads_all?: boolean;
}

/**
 * Opens a database and migrates it to the newest schema. A damaged one is moved aside, never deleted,
 * and a new one is created; `moved_to` is then the path of the old one.
 */
export async function openChecked(
  path: string,
  options: OpenOptions,
): Promise<{ database: Database; moved_to: string | null }> {
  try {
    return { database: await openMigrated(path, options), moved_to: null };
  } catch (error) {
    if (!isDamage(error)) throw error;
    const moved_to = moveAside(path, options.now());
    return { database: await openMigrated(path, options), moved_to };
  }
}

async function openMigrated(
  path: string,
  { migrations, now, reads_all }: OpenOptions,
): Promise<Database> {
  const database = await Database.open(path);
  try {
    await checkHealth(database, { reads_all });
    await migrate(database, migrations, now);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** Checking a larger file at each start would block the event loop too long; `verify` does. */
const QUICK_CHECK_BYTES = 16 * 1024 * 1024;

/** Reads a small database once, to its end. @throws an error that `isDamage` recognizes */
async function checkHealth(
  database: Database,
  { reads_all = false }: Pick<OpenOptions, "reads_all">,
): Promise<void> {
  const schema = await database.all(SCHEMA_TEXTS);
  if (!schema.every(({ texts }) => isUtf8(texts!))) {
    throw new DamageError(database.path, "a name in it is not UTF-8");
  }
  if (statSync(database.path).size > QUICK_CHECK_BYTES) {
    return reads_all ? await requireTexts(database) : undefined;
  }
  // As bytes: the verdict would contain a damaged name.
  const checked = "SELECT CAST(quick_check AS BLOB) AS verdict FROM pragma_quick_check(1)";
  const [row] = await database.all(checked);
  const verdict = row
    ? new TextDecoder().decode(row.verdict as Uint8Array)
    : "the check returns nothing";
  if (verdict !== "ok") throw new DamageError(database.path, verdict);
  await requireTexts(database);
}

/**
 * Reads all texts but the chain's, whose own check names each damaged event.
 * @throws an error that `isDamage` recognizes
 */
export async function requireTexts(database: Database): Promise<void> {
  for (const { table, sql } of textQueries(await database.all(TEXT_COLUMNS))) {
    if (table === "audit") continue;
    for await (const rows of pagesOf(database, table, sql)) {
      if (rows.every(({ texts }) => isUtf8(texts!))) continue;
      throw new DamageError(database.path, `a text in "${table}" is not UTF-8`);
    }
  }
}

/** A page of wide rows is read in one go, while nothing else runs. */
const PAGE = 32;

/** The rows of a query over a table; a table without row numbers is a summary, in one page. */
async function* pagesOf(database: Database, table: string, sql: string): AsyncGenerator<Row[]> {
  const [kind] = await database.all("SELECT wr FROM pragma_table_list WHERE name = ?", [table]);
  if (kind?.wr !== 0) {
    await setImmediate();
    return yield await database.all(sql);
  }
  const page = `${sql.replace("SELECT ", "SELECT rowid AS at, ")}
    WHERE rowid > ? ORDER BY rowid LIMIT ${PAGE}`;
  for (let at: Value = Number.MIN_SAFE_INTEGER;;) {
    await setImmediate();
    const rows = await database.all(page, [at]);
    yield rows;
    if (rows.length < PAGE) return;
    at = rows.at(-1)!.at!;
  }
}

/** A database that opens but whose content is damaged. */
class DamageError extends Error {
  readonly code = "SQLITE_CORRUPT";

  constructor(path: string, verdict: string) {
    super(`"${path}" is damaged: ${verdict}`);
    this.name = "DamageError";
  }
}

/** Renames a damaged database with its log and returns its new path. */
function moveAside(path: string, now: number): string {
  const stamp = new Date(now).toISOString().replaceAll(/[:.]/g, "-");
  let target = `${path}.corrupt-${stamp}`;
  for (let n = 2; existsSync(target); n++) target = `${path}.corrupt-${stamp}-${n}`;
  for (const suffix of ["-wal", "-shm", ""]) {
    if (existsSync(path + suffix)) renameSync(path + suffix, target + suffix);
  }
  return target;
}

/** The damaged databases beside `path` that wait for a person. */
export function listDamaged(path: string): string[] {
  const folder = dirname(path);
  if (!existsSync(folder)) return [];
  const prefix = `${basename(path)}.corrupt-`;
  return readdirSync(folder)
    .filter((name) => name.startsWith(prefix) && !/-(wal|shm)$/.test(name))
    .sort()
    .map((name) => join(folder, name));
}
