import type { Row, Value } from "./ledger.ts";

/** The columns of a database that hold texts; all names come as bytes. */
export const TEXT_COLUMNS = `SELECT CAST(tables.name AS BLOB) AS of_table,
    CAST(columns.name AS BLOB) AS of_column
  FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns
  WHERE tables.type = 'table' AND columns.type = 'TEXT' ORDER BY tables.name, columns.cid`;

/** What every table and column is called, as bytes. */
export const SCHEMA_TEXTS = "SELECT CAST(coalesce(sql, '') AS BLOB) AS texts FROM sqlite_schema";

/** What reads all the texts of a table, as the bytes of one value a row. */
export interface TextQuery {
  table: string;
  sql: string;
}

/** The queries for these columns, whose names have to be UTF-8. */
export function textQueries(columns: readonly Row[]): TextQuery[] {
  const tables = new Map<string, string[]>();
  for (const { of_table, of_column } of columns) {
    const table = decode(of_table!);
    tables.set(table, [...tables.get(table) ?? [], decode(of_column!)]);
  }
  return [...tables].map(([table, names]) => {
    const texts = names.map((name) => `coalesce(${quoted(name)}, '')`).join(" || char(10) || ");
    return { table, sql: `SELECT CAST(${texts} AS BLOB) AS texts FROM ${quoted(table)}` };
  });
}

/** libSQL ends the whole process where it reads a text that is no UTF-8. */
export function isUtf8(bytes: Value): boolean {
  try {
    decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** JSON whose every text SQLite can take out of it: of half a character it would make no UTF-8. */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value);
  return HALF.test(text) ? JSON.stringify(wellFormed(value)) : text;
}

const HALF = /\\ud[89a-f]/;

function wellFormed(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name.toWellFormed(), wellFormed(item)]),
  );
}

const UTF8 = new TextDecoder("utf-8", { fatal: true });

function decode(bytes: Value): string {
  return UTF8.decode(bytes as Uint8Array);
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
