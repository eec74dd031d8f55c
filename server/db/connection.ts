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
  /** Once it is full, least recently used first. A Map, because lru-cache adds some microseconds to each statement. */
  readonly #kept = new Map<string, Prepared>();
  #isInBatch = false;

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
    const isChange = !this.#kept.has(sql) &&
      /^\s*(?:CREATE|ALTER|DROP|PRAGMA|VACUUM)\b/i.test(sql);
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
   * All of the statements in one transaction, or none. With `is_held` the transaction stays open for
   * the next batch, which commits both or, when it fails, rolls both back.
   */
  batch(statements: Statement[], { is_held = false }: BatchOptions = {}): Row[][] {
    if (!this.#isInBatch) this.run({ sql: "BEGIN IMMEDIATE", args: [] });
    this.#isInBatch = true;
    try {
      const results = statements.map((statement) => this.run(statement));
      if (is_held) return results;
      this.run({ sql: "COMMIT", args: [] });
      this.#isInBatch = false;
      return results;
    } catch (error) {
      this.#rollBack();
      throw error;
    }
  }

  /** True while a held batch waits for the next one. */
  get isInBatch(): boolean {
    return this.#isInBatch;
  }

  close(): void {
    this.#kept.clear();
    if (!this.isOpen) return;
    try {
      // libSQL keeps a closed connection with its locks until its statements are collected.
      if (this.#database.inTransaction) this.#database.exec("ROLLBACK");
    } catch {
      // It ends with the connection.
    }
    this.#database.close();
  }

  #rollBack(): void {
    this.#isInBatch = false;
    try {
      if (this.#database.inTransaction) this.run({ sql: "ROLLBACK", args: [] });
    } catch {
      this.close(); // the next transaction must not begin inside this one
    }
  }

  #keep(sql: string): Prepared {
    const kept = this.#kept.get(sql);
    // The order matters only when something must go.
    if (kept && this.#kept.size < MOST_KEPT) return kept;
    const prepared = kept ?? this.#prepare(sql);
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
  /** Leaves the transaction open for the next batch. */
  is_held?: boolean;
  /**
   * A held batch may run after the call has returned, before any later query or batch. The call
   * returns no rows.
   */
  is_postponed?: boolean;
  /** The batch is committed only when this has settled. It must not reject. */
  after?: Promise<void>;
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
    for (let i = 0; i < columns.length; i++) row[columns[i]!] = toValue(values[i]);
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
