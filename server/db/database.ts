import { GateError } from "../errors.ts";
import { Connection } from "./connection.ts";
import { codeOf, explain } from "./failures.ts";
import type { Row, Statement, Value } from "./ledger.ts";

const PRAGMAS = [
  "PRAGMA journal_mode = WAL",
  "PRAGMA synchronous = FULL",
  "PRAGMA foreign_keys = ON",
  "PRAGMA trusted_schema = OFF",
  "PRAGMA cell_size_check = ON",
  // A page of a large ledger is then found where the last query left it; small ones never fill it.
  "PRAGMA cache_size = -8192",
  "PRAGMA journal_size_limit = 67108864",
];

/** How long a locked file is tried again before the caller hears of it. */
const BUSY_LIMIT_MS = 10_000;

export interface DatabaseOptions {
  /** How long a locked file is tried again, 10 s unless said. */
  busy_limit_ms?: number;
}

/** One libSQL file with the settings that a ledger needs; all writes go through one queue. */
export class Database {
  readonly path: string;
  readonly #busyLimit: number;
  #connection: Connection | null = null;
  #queue: Promise<unknown> = Promise.resolve();
  #closed = false;
  #closing: Promise<void> | null = null;

  private constructor(path: string, options: DatabaseOptions) {
    this.path = path;
    this.#busyLimit = options.busy_limit_ms ?? BUSY_LIMIT_MS;
  }

  /** Opens the file, made when it is not there. @throws GateError `unavailable` when locked */
  static async open(path: string, options: DatabaseOptions = {}): Promise<Database> {
    const database = new Database(path, options);
    await database.#retry(() => {});
    return database;
  }

  /** The rows of a read; it does not wait for the write queue. */
  async all(sql: string, args: Value[] = []): Promise<Row[]> {
    this.#mustBeOpen();
    const statement = checked({ sql, args });
    return await this.#retry((connection) => connection.run(statement));
  }

  /** All of the statements or none, durably; in the order in which they were asked for. */
  batch(statements: Statement[]): Promise<Row[][]> {
    return this.exclusive((write) => write(statements));
  }

  /** Runs `task` alone in the write queue; `write` commits one batch. */
  exclusive<T>(
    task: (write: (statements: Statement[]) => Promise<Row[][]>) => Promise<T>,
  ): Promise<T> {
    const run = this.#queue.then(() => {
      this.#mustBeOpen();
      return task((statements) => this.#write(statements));
    });
    this.#queue = run.catch(() => {});
    return run;
  }

  /** Waits for the queue, folds the write-ahead log into the file and lets go of it. */
  close(): Promise<void> {
    return this.#closing ??= this.exclusive(() => {
      this.#closed = true;
      try {
        this.#connection?.run({ sql: "PRAGMA wal_checkpoint(TRUNCATE)", args: [] });
      } catch {
        // The log stays beside the file, and whoever opens it next reads both.
      }
      this.#drop();
      return Promise.resolve();
    });
  }

  async #write(statements: Statement[]): Promise<Row[][]> {
    const all = statements.map(checked);
    return await this.#retry((connection) => connection.batch(all));
  }

  /**
   * libSQL never resets a statement that failed with BUSY: that connection cannot commit any more,
   * and its next transaction would lock everybody else out. So it is replaced before trying again.
   */
  async #retry<T>(task: (connection: Connection) => T): Promise<T> {
    const deadline = performance.now() + this.#busyLimit;
    for (let attempt = 0;; attempt++) {
      try {
        return task(this.#connection ??= connect(this.path));
      } catch (error) {
        const code = codeOf(error);
        if (RECONNECT.has(code) || !this.#connection?.isOpen) this.#drop();
        if (!RETRY.has(code) || performance.now() > deadline) throw explain(error, this.path);
      }
      await pause(Math.min(250, 2 ** attempt) * (0.5 + Math.random()));
      this.#mustBeOpen();
    }
  }

  #drop(): void {
    this.#connection?.close();
    this.#connection = null;
  }

  #mustBeOpen(): void {
    if (this.#closed) throw closedError(this.path);
  }
}

const RETRY = new Set(["SQLITE_BUSY", "SQLITE_LOCKED"]);
const RECONNECT = new Set([
  ...RETRY,
  "SQLITE_FULL",
  "SQLITE_IOERR",
  "SQLITE_PROTOCOL",
  "SQLITE_CANTOPEN",
  "SQLITE_CORRUPT",
  "SQLITE_NOTADB",
]);

function connect(path: string): Connection {
  const connection = new Connection(path);
  try {
    for (const sql of PRAGMAS) connection.run({ sql, args: [] });
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

function checked(statement: Statement): Statement {
  for (const arg of statement.args) {
    // SQLite text ends at NUL when libSQL reads it back: refuse what would not be kept whole.
    if (typeof arg === "string" && arg.includes("\0")) {
      throw new GateError("invalid", "Cannot use a text that contains a NUL character");
    }
  }
  return statement;
}

function closedError(path: string): GateError {
  return new GateError("unavailable", `Cannot use "${path}": it has been closed`);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
