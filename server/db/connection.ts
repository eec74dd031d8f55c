import Sqlite from "libsql";
import type { Row, Statement, Value } from "./ledger.ts";

/** More than the different statements of a ledger, apart from those that are built at run time. */
const MOST_KEPT = 200;

/** A statement keeps its last arguments in memory, so those with larger ones are not kept. */
const MAX_KEPT_ARG = 64 * 1024;

/**
 * One open libSQL file that keeps its prepared statements. `@libsql/client` prepares a statement each
 * time, which takes longer than running it because of the ledger's triggers.
 */
export class Connection {
  readonly #database: Sqlite.Database;
  /** Least recently used first. A Map, because lru-cache adds some microseconds to each statement. */
  readonly #kept = new Map<string, Prepared>();
  #syncs = true;

  /** Opens the file, or creates it. @throws Error with libSQL's `code` */
  constructor(path: string) {
    try {
      this.#database = new Sqlite(path);
    } catch (cause) {
      // libSQL gives no code for a file that it cannot open.
      throw Object.assign(new Error(`Cannot open "${path}"`, { cause }), {
        code: "SQLITE_CANTOPEN",
      });
    }
  }

  get isOpen(): boolean {
    return this.#database.open;
  }

  /** The rows of one statement. */
  run({ sql, args }: Statement): Row[] {
    const isChange = /^\s*(?:CREATE|ALTER|DROP|PRAGMA|VACUUM)\b/i.test(sql);
    // A prepared statement keeps its columns, so it is invalid once the schema has changed.
    if (isChange) this.#kept.clear();
    if (isChange || !args.every(isSmall)) return rowsOf(this.#prepare(sql), args);
    try {
      return rowsOf(this.#keep(sql), args);
    } catch (error) {
      this.#kept.delete(sql); // it may not have been reset
      throw error;
    }
  }

  /**
   * All of the statements in one transaction, or none. Without `is_synced` the commit does not wait
   * for the disk: a power cut may take it until a later commit is synced.
   */
  batch(statements: Statement[], { is_synced = true }: BatchOptions = {}): Row[][] {
    this.#sync(is_synced);
    this.run({ sql: "BEGIN IMMEDIATE", args: [] });
    try {
      const results = statements.map((statement) => this.run(statement));
      this.run({ sql: "COMMIT", args: [] });
      return results;
    } catch (error) {
      this.#rollBack();
      throw error;
    }
  }

  close(): void {
    this.#kept.clear();
    if (this.isOpen) this.#database.close();
  }

  /** SQLite reads the setting while it parses it, so it cannot be a kept statement. */
  #sync(is_synced: boolean): void {
    if (this.#syncs === is_synced) return;
    this.#database.exec(`PRAGMA synchronous = ${is_synced ? "FULL" : "NORMAL"}`);
    this.#syncs = is_synced;
  }

  #rollBack(): void {
    try {
      if (this.#database.inTransaction) this.run({ sql: "ROLLBACK", args: [] });
    } catch {
      this.close(); // the next transaction must not begin inside this one
    }
  }

  #keep(sql: string): Prepared {
    const prepared = this.#kept.get(sql) ?? this.#prepare(sql);
    this.#kept.delete(sql);
    this.#kept.set(sql, prepared);
    if (this.#kept.size > MOST_KEPT) this.#kept.delete(this.#kept.keys().next().value!);
    return prepared;
  }

  #prepare(sql: string): Prepared {
    const statement = this.#database.prepare(sql).safeIntegers(true);
    try {
      statement.raw(true);
    } catch {
      return { statement, arity: null, columns: null }; // it returns no rows
    }
    return { statement, arity: null, columns: statement.columns().map(({ name }) => name) };
  }
}

export interface BatchOptions {
  /** Whether the commit is durable when `batch` returns; the default is true. */
  is_synced?: boolean;
}

interface Prepared {
  statement: Sqlite.Statement;
  /** The number of arguments of its first run. */
  arity: number | null;
  /** Null when it returns no rows. */
  columns: string[] | null;
}

function rowsOf(prepared: Prepared, args: Value[]): Row[] {
  const { statement, columns } = prepared;
  prepared.arity ??= args.length;
  // libSQL would use the arguments of an earlier run for missing ones.
  if (prepared.arity !== args.length) {
    throw new Error(
      "Cannot run the statement: the number of its arguments differs from the first run",
    );
  }
  if (columns === null) {
    statement.run(args);
    return [];
  }
  return (statement.all(args) as unknown[][]).map((values) => {
    const row: Row = {};
    for (const [i, name] of columns.entries()) row[name] = toValue(values[i]);
    return row;
  });
}

function isSmall(arg: Value): boolean {
  if (typeof arg === "string") return arg.length <= MAX_KEPT_ARG;
  return !(arg instanceof Uint8Array) || arg.length <= MAX_KEPT_ARG;
}

function toValue(value: unknown): Value {
  if (typeof value === "bigint") return toNumber(value);
  if (value instanceof Uint8Array) {
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  }
  return value as Value;
}

function toNumber(value: bigint): number {
  const number = Number(value);
  if (Number.isSafeInteger(number)) return number;
  throw new RangeError(`Cannot read ${value}: it is not a safe integer`);
}
