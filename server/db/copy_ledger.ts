import { createHash, type Hash } from "node:crypto";
import { GateError } from "../errors.ts";
import type { LedgerDatabase } from "./database.ts";
import type { Row, Statement, Value } from "./ledger.ts";
import { MACHINES } from "./machines.ts";
import { PASSED } from "./passing.ts";
import { PLACEMENT } from "./placement.ts";
import { REBUILT } from "./projections.ts";

/** The rows of one page, and of one commit: a content has up to 1 MiB. */
const MOST_ROWS = 100;
const FIRST_ROWS = 8;
const MOST_CONTENTS = 4;
const MOST_BYTES = 1024 * 1024;

/** A table to copy. */
interface Table {
  name: string;
  columns: string[];
  /** The columns that order its rows and name one of them. */
  key: string[];
  /** The tables that it refers to. */
  refers_to: string[];
  page: number;
}

type Source = Pick<LedgerDatabase, "all">;
type Target = Pick<LedgerDatabase, "all" | "batch" | "path">;

/**
 * Copies a ledger into an empty database and compares every row of both. What is derived from other
 * tables alone is left out: the copy fills it again. @throws GateError `unavailable` when the copy
 * differs or cannot be made
 */
export async function copyLedger(source: Source, target: Target): Promise<{ rows: number }> {
  const schema = await schemaOf(source);
  const tables = sorted(await Promise.all(schema.tables.map((name) => tableOf(source, name))));
  await target.batch(schema.create.map(plain));
  let rows = 0;
  const hashes = new Map<string, string>();
  for (const table of tables.filter(({ name }) => !REBUILT.tables.has(name))) {
    const { count, digest } = await copyTable(table, source, target);
    rows += count;
    hashes.set(table.name, digest);
  }
  await target.batch(schema.attach.map(plain));
  for (const table of tables) {
    const digest = hashes.get(table.name);
    if (digest !== undefined && await digestOf(table, target) !== digest) {
      const message = `Cannot move the ledger: the copy of "${table.name}" in "${target.path}" ` +
        "differs from the original; the original stays in use, try again";
      throw new GateError("unavailable", message);
    }
  }
  const [header] = await source.all("PRAGMA user_version");
  const mark = `PRAGMA user_version = ${Number(header!.user_version)}`;
  await target.batch([...REBUILT.again, mark].map(plain));
  return { rows };
}

/** Deletes everything of a ledger in a database. */
export async function clearLedger(target: Target): Promise<void> {
  const found = await target.all(
    `SELECT type, name FROM sqlite_schema WHERE type IN ('view', 'table', 'trigger')
      AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'libsql_%' AND name <> '${PLACEMENT}'
      ORDER BY rowid DESC`,
  );
  const named = (type: string) =>
    found.filter((row) => row.type === type).map(({ name }) => String(name));
  const tables = named("table").filter((name) => !isShadow(name, named("table")));
  const links = await Promise.all(tables.map((name) => tableOf(target, name)));
  await target.batch([
    ...named("trigger").map((name) => plain(`DROP TRIGGER ${quoted(name)}`)),
    ...named("view").map((name) => plain(`DROP VIEW ${quoted(name)}`)),
    ...sorted(links).reverse().map(({ name }) => plain(`DROP TABLE ${quoted(name)}`)),
  ]);
}

/** Triggers would count the copied rows again, so they come last. */
async function schemaOf(
  source: Source,
): Promise<{ tables: string[]; create: string[]; attach: string[] }> {
  const rows = await source.all(
    `SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL
      AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'libsql_%'
      AND name NOT IN ('${PLACEMENT}', '${MACHINES}', '${PASSED}') ORDER BY rowid`,
  );
  const names = rows.filter(({ type }) => type === "table").map(({ name }) => String(name));
  const own = rows.filter(({ name }) => !isShadow(String(name), names));
  const isTable = ({ type }: Row) => type === "table";
  const order = ["index", "view", "trigger"];
  return {
    tables: own.filter(isTable).map(({ name }) => String(name)),
    create: own.filter(isTable).map(({ sql }) => String(sql)),
    attach: own.filter((row) => !isTable(row))
      .toSorted((a, b) => order.indexOf(String(a.type)) - order.indexOf(String(b.type)))
      .map(({ sql }) => String(sql)),
  };
}

/** Whether FTS5 makes this table for its own. */
function isShadow(name: string, tables: readonly string[]): boolean {
  const end = /_(?:data|idx|content|docsize|config)$/.exec(name);
  return end !== null && tables.includes(name.slice(0, end.index));
}

async function tableOf(source: Source, name: string): Promise<Table> {
  const columns = await source.all("SELECT name, type, pk FROM pragma_table_info(?)", [name]);
  const links = await source.all(
    'SELECT DISTINCT "table" AS name FROM pragma_foreign_key_list(?)',
    [
      name,
    ],
  );
  const [kind] = await source.all(
    "SELECT wr, type FROM pragma_table_list WHERE schema = 'main' AND name = ?",
    [name],
  );
  const keyed = columns.filter(({ pk }) => Number(pk) > 0)
    .toSorted((a, b) => Number(a.pk) - Number(b.pk));
  const isNumbered = keyed.length === 1 && keyed[0]!.type === "INTEGER";
  const hasKey = isNumbered || Number(kind?.wr) === 1;
  const hasContents = columns.some(({ type }) => type === "BLOB");
  return {
    name,
    columns: [...hasKey ? [] : ["rowid"], ...columns.map((column) => String(column.name))],
    key: hasKey ? keyed.map((column) => String(column.name)) : ["rowid"],
    refers_to: links.map((link) => String(link.name)).filter((other) => other !== name),
    page: hasContents ? MOST_CONTENTS : MOST_ROWS,
  };
}

/** Each table after those that it refers to. */
function sorted(tables: Table[]): Table[] {
  const done: Table[] = [];
  const visit = (table: Table) => {
    if (done.includes(table)) return;
    for (const other of tables) if (table.refers_to.includes(other.name)) visit(other);
    done.push(table);
  };
  for (const table of tables) visit(table);
  return done;
}

async function copyTable(
  table: Table,
  source: Source,
  target: Target,
): Promise<{ count: number; digest: string }> {
  const { name, columns } = table;
  const marks = columns.map(() => "?").join(", ");
  const sql = `INSERT INTO ${quoted(name)} (${columns.map(quoted).join(", ")}) VALUES (${marks})`;
  const hash = createHash("sha256");
  let count = 0;
  for await (const rows of pagesOf(table, source)) {
    count += rows.length;
    let waiting: Statement[] = [];
    let bytes = 0;
    for (const row of rows) {
      const args = columns.map((column) => row[column]!);
      add(hash, args);
      waiting.push({ sql, args });
      bytes += sizeOfAll(args);
      if (bytes < MOST_BYTES) continue;
      await target.batch(waiting);
      [waiting, bytes] = [[], 0];
    }
    if (waiting.length > 0) await target.batch(waiting);
  }
  return { count, digest: hash.digest("hex") };
}

async function digestOf(table: Table, source: Source): Promise<string> {
  const hash = createHash("sha256");
  for await (const rows of pagesOf(table, source)) {
    for (const row of rows) add(hash, table.columns.map((column) => row[column]!));
  }
  return hash.digest("hex");
}

/**
 * All rows of a table in the order of their key. One page is read while nothing else runs, so the
 * pages are small at first, and again after wide rows.
 */
async function* pagesOf(
  { name, columns, key, page }: Table,
  source: Source,
): AsyncGenerator<Row[]> {
  const names = key.map(quoted).join(", ");
  const marks = key.map(() => "?").join(", ");
  let last: Value[] | null = null;
  for (let most = Math.min(FIRST_ROWS, page);;) {
    const rows: Row[] = await source.all(
      `SELECT ${columns.map(quoted).join(", ")} FROM ${quoted(name)}
        ${last === null ? "" : `WHERE (${names}) > (${marks})`} ORDER BY ${names} LIMIT ?`,
      [...last ?? [], most],
    );
    if (rows.length > 0) yield rows;
    if (rows.length < most) return;
    const bytes = rows.reduce((sum, row) => sum + sizeOfAll(Object.values(row)), 0);
    most = bytes > MOST_BYTES ? Math.max(1, most >> 2) : Math.min(page, 2 * most);
    last = key.map((column) => rows.at(-1)![column]!);
  }
}

function add(hash: Hash, values: readonly Value[]): void {
  const texts = values.map((value) =>
    value instanceof Uint8Array ? { bytes: Buffer.from(value).toString("base64") } : value
  );
  hash.update(`${JSON.stringify(texts)}\n`);
}

function sizeOfAll(values: readonly Value[]): number {
  return values.reduce<number>((sum, value) => sum + sizeOf(value), 0);
}

function sizeOf(value: Value): number {
  return typeof value === "string" || value instanceof Uint8Array ? value.length : 8;
}

function quoted(name: string): string {
  return name === "rowid" ? name : `"${name.replaceAll('"', '""')}"`;
}

function plain(sql: string): Statement {
  return { sql, args: [] };
}
