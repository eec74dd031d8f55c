import Sqlite from "libsql";
import { GateError } from "../errors.ts";
import { explain, isDamage } from "./database.ts";
import { isUtf8, SCHEMA_TEXTS, TEXT_COLUMNS, textQueries } from "./texts.ts";

// As bytes: the verdict would contain a damaged name.
const CHECK = "SELECT CAST(integrity_check AS BLOB) FROM pragma_integrity_check(3)";

/**
 * The damage of a database in SQLite's words; null when there is none. It changes nothing and blocks
 * no writer. It reads the whole file synchronously, so the daemon must not call it. @throws GateError
 * `unavailable` if it cannot be read for another reason, such as the lock of another process
 */
export function checkIntegrity(path: string): string | null {
  let database: Sqlite.Database | null = null;
  try {
    database = new Sqlite(path, { timeout: 5 });
    database.exec("PRAGMA query_only = ON");
    if (!read(database, SCHEMA_TEXTS).every(([texts]) => isUtf8(texts!))) {
      return "a name in it is not UTF-8";
    }
    const rows = read(database, CHECK);
    const verdict = rows.map(([said]) => new TextDecoder().decode(said)).join("; ");
    if (verdict !== "ok") return verdict || "it cannot be checked";
    return damagedText(database);
  } catch (error) {
    const explained = explain(error, path);
    if (explained instanceof GateError && !isDamage(error)) throw explained;
    return (error as Error).message;
  } finally {
    database?.close();
  }
}

/**
 * The release whose change of a sound database keeps a release with schema `newest` from using it: the
 * newest of several, null if there is none. @throws the error of SQLite
 */
export function newerRelease(path: string, newest: number): string | null {
  const database = new Sqlite(path, { timeout: 5 });
  try {
    database.exec("PRAGMA query_only = ON");
    // A database without the table, or without the column, is not newer.
    const columns = read(database, COLUMNS).map(([name]) => new TextDecoder().decode(name));
    if (!columns.includes("version")) return null;
    const needs = columns.includes("needs") ? "coalesce(needs, version)" : "version";
    const [row] = read(
      database,
      `SELECT CAST(made_by AS BLOB) FROM migrations WHERE ${needs} > ${newest}
        ORDER BY version DESC LIMIT 1`,
    );
    return row === undefined ? null : new TextDecoder().decode(row[0]);
  } finally {
    database.close();
  }
}

const COLUMNS = "SELECT CAST(name AS BLOB) FROM pragma_table_info('migrations')";

function damagedText(database: Sqlite.Database): string | null {
  const columns = read(database, TEXT_COLUMNS)
    .map(([of_table, of_column]) => ({ of_table: of_table!, of_column: of_column! }));
  for (const { table, sql } of textQueries(columns)) {
    for (const [texts] of database.prepare(sql).raw(true).iterate() as Iterable<Uint8Array[]>) {
      if (!isUtf8(texts!)) return `a text in "${table}" is not UTF-8`;
    }
  }
  return null;
}

function read(database: Sqlite.Database, sql: string): Uint8Array[][] {
  return database.prepare(sql).raw(true).all() as Uint8Array[][];
}
