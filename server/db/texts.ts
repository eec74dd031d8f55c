import type { Row, Value } from "./ledger.ts";

/** Lists the text columns of a database; all names are bytes. */
export const TEXT_COLUMNS = `SELECT CAST(tables.name AS BLOB) AS of_table,
    CAST(columns.name AS BLOB) AS of_column
  FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns
  WHERE tables.type = 'table' AND columns.type = 'TEXT' ORDER BY tables.name, columns.cid`;

/** Lists the names of tables and columns, as bytes. */
export const SCHEMA_TEXTS = "SELECT CAST(coalesce(sql, '') AS BLOB) AS texts FROM sqlite_schema";

/** A query for all texts of a table, joined to one value of bytes in each row. */
export interface TextQuery {
  table: string;
  sql: string;
}

/** The queries for these columns. Their names must be UTF-8. */
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

/** The text of these bytes; a damaged character becomes another one. */
export function textOf(bytes: Value | undefined): string {
  return new TextDecoder().decode(bytes as Uint8Array);
}

/** False for bytes that libSQL must not read as text: it ends the process for invalid UTF-8. */
export function isUtf8(bytes: Value): boolean {
  try {
    decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** JSON without unpaired surrogates: SQLite would extract them as invalid UTF-8. */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value);
  return SURROGATE.test(text) ? JSON.stringify(wellFormed(value)) : text;
}

const SURROGATE = /\\ud[89a-f]/;

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
