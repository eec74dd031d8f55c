import { type Client, createClient, type InStatement, type ResultSet } from "@libsql/client";
import { pathToFileURL } from "node:url";
import { GateError } from "../errors.ts";
import { codeOf, explain } from "./failures.ts";
import type { Row, Statement, Value } from "./ledger.ts";

const PRAGMAS = [
  "PRAGMA journal_mode = WAL",
  "PRAGMA synchronous = FULL",
  "PRAGMA foreign_keys = ON",
  "PRAGMA trusted_schema = OFF",
  "PRAGMA cell_size_check = ON",
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
  #connection: Promise<Client> | null = null;
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
    await database.#retry(() => Promise.resolve());
    return database;
  }

  /** The rows of a read; it does not wait for the write queue. */
  async all(sql: string, args: Value[] = []): Promise<Row[]> {
    this.#mustBeOpen();
    const input = toInput({ sql, args });
    return rowsOf(await this.#retry((client) => client.execute(input)));
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
    return this.#closing ??= this.exclusive(async () => {
      const client = await this.#connection?.catch(() => null);
      this.#closed = true;
      await client?.execute("PRAGMA wal_checkpoint(TRUNCATE)").catch(() => {});
      client?.close();
    });
  }

  async #write(statements: Statement[]): Promise<Row[][]> {
    const inputs = statements.map(toInput);
    const results = await this.#retry((client) => client.batch(inputs, "write"));
    return results.map(rowsOf);
  }

  /**
   * libSQL never resets a statement that failed with BUSY: that connection cannot commit any more,
   * and its next transaction would lock everybody else out. So it is replaced before trying again.
   */
  async #retry<T>(task: (client: Client) => Promise<T>): Promise<T> {
    const deadline = performance.now() + this.#busyLimit;
    for (let attempt = 0;; attempt++) {
      const connection = this.#connection ??= connect(this.path);
      let isConnected = false;
      try {
        const client = await connection;
        isConnected = true;
        return await task(client);
      } catch (error) {
        const code = codeOf(error);
        if (!isConnected || RECONNECT.has(code)) await this.#drop(connection);
        if (this.#closed) throw closedError(this.path);
        if (!RETRY.has(code) || performance.now() > deadline) throw explain(error, this.path);
        await pause(Math.min(250, 2 ** attempt) * (0.5 + Math.random()));
      }
    }
  }

  /** Only once: another call may have replaced the connection already. */
  async #drop(connection: Promise<Client>): Promise<void> {
    if (this.#connection === connection) this.#connection = null;
    await connection.then((client) => client.close(), () => {});
  }

  #mustBeOpen(): void {
    if (this.#closed) throw closedError(this.path);
  }
}

const RETRY = new Set(["SQLITE_BUSY", "SQLITE_LOCKED", "CLIENT_CLOSED"]);
const RECONNECT = new Set([
  ...RETRY,
  "SQLITE_FULL",
  "SQLITE_IOERR",
  "SQLITE_PROTOCOL",
  "SQLITE_CANTOPEN",
  "SQLITE_CORRUPT",
  "SQLITE_NOTADB",
]);

async function connect(path: string): Promise<Client> {
  // One connection: a pool would hand out connections on which the PRAGMAs were never run.
  const client = createClient({ url: pathToFileURL(path).href, concurrency: 1 });
  try {
    for (const pragma of PRAGMAS) await client.execute(pragma);
    return client;
  } catch (error) {
    client.close();
    throw error;
  }
}

function toInput(statement: Statement): InStatement {
  for (const arg of statement.args) {
    // SQLite text ends at NUL when libSQL reads it back: refuse what would not be kept whole.
    if (typeof arg === "string" && arg.includes("\0")) {
      throw new GateError("invalid", "Cannot use a text that contains a NUL character");
    }
  }
  return { sql: statement.sql, args: statement.args };
}

function rowsOf(result: ResultSet): Row[] {
  return result.rows.map((row) => {
    const record: Row = {};
    for (const column of result.columns) {
      const value = row[column] ?? null;
      record[column] = value instanceof ArrayBuffer ? new Uint8Array(value) : value;
    }
    return record;
  });
}

function closedError(path: string): GateError {
  return new GateError("unavailable", `Cannot use "${path}": it has been closed`);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
