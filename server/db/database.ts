import { setImmediate, setTimeout } from "node:timers/promises";
import { GateError } from "../errors.ts";
import { syncFile } from "../runtime/small_file.ts";
import { type BatchOptions, Connection } from "./connection.ts";
import { releaseMemory } from "../runtime/memory.ts";
import type { Row, Statement, Value } from "./ledger.ts";

const PRAGMAS = [
  "PRAGMA journal_mode = WAL",
  // `sync` waits for the disk, outside of the event loop and once for all commits before it.
  "PRAGMA synchronous = NORMAL",
  "PRAGMA foreign_keys = ON",
  "PRAGMA trusted_schema = OFF",
  "PRAGMA cell_size_check = ON",
  // 8 MiB, so that a large ledger finds its pages in memory; a small one never fills them.
  "PRAGMA cache_size = -8192",
  "PRAGMA journal_size_limit = 67108864",
  // A checkpoint waits for the disk twice, inside of a commit: with 16 MiB it comes rarely.
  "PRAGMA wal_autocheckpoint = 4000",
];

const BUSY_LIMIT_MS = 10_000;

export interface DatabaseOptions {
  /** How long to retry while the file is locked; the default is 10 s. */
  busy_limit_ms?: number;
}

/** libSQL keeps the locks of a closed connection until its statements are collected. */
const COLLECT_EVERY = 4;

/** How many held batches one transaction collects before it is committed. */
const MOST_HELD = 8;

/** Commits one batch. The commit is durable after the next `sync`. */
export type Write = (statements: Statement[], options?: BatchOptions) => Promise<Row[][]>;

/** What a ledger needs of its database. */
export interface LedgerDatabase {
  /** The path of the file, or the address on a server. */
  readonly path: string;
  /** Whether a query takes so long that a batch may begin before its answer. */
  readonly is_remote: boolean;
  all(sql: string, args?: Value[]): Promise<Row[]>;
  batch(statements: Statement[]): Promise<Row[][]>;
  exclusive<T>(task: (write: Write) => Promise<T>): Promise<T>;
  sync(): Promise<void>;
  syncCommitted(): Promise<void>;
  close(): Promise<void>;
}

/** One libSQL file with the settings of a ledger; all writes go through one queue. */
export class Database implements LedgerDatabase {
  readonly path: string;
  readonly is_remote = false;
  readonly #busyLimit: number;
  #connection: Connection | null = null;
  #queue: Promise<unknown> = Promise.resolve();
  /** The tasks of the queue that have not ended. */
  #queued = 0;
  /** Batches of the open transaction. They are repeated when it is rolled back. */
  #held: { statements: Statement[]; after?: Promise<void> }[] = [];
  /** How many of the first batches of `#held` have run in the open transaction. */
  #begun = 0;
  #syncing: Promise<void> | null = null;
  #nextSync: Promise<void> | null = null;
  /** After the disk failed to sync, no later sync can promise what came before it. */
  #unsyncable: GateError | null = null;
  #closed = false;
  #closing: Promise<void> | null = null;

  private constructor(path: string, options: DatabaseOptions) {
    this.path = path;
    this.#busyLimit = options.busy_limit_ms ?? BUSY_LIMIT_MS;
  }

  /** Opens the file, or creates it. @throws GateError `unavailable` when it is locked */
  static async open(path: string, options: DatabaseOptions = {}): Promise<Database> {
    const database = new Database(path, options);
    await database.#retry(() => {});
    return database;
  }

  /** The rows of a query; it does not wait for the write queue. */
  async all(sql: string, args: Value[] = []): Promise<Row[]> {
    this.#mustBeOpen();
    const statement = checked({ sql, args });
    return await this.#retry((connection) => connection.run(statement));
  }

  /**
   * Commits all of the statements or none; batches commit in the order of the calls. Without
   * `is_synced` it does not wait for the disk: a power cut may take the commit until a later sync.
   */
  async batch(
    statements: Statement[],
    { is_synced = true }: { is_synced?: boolean } = {},
  ): Promise<Row[][]> {
    const rows = await this.exclusive((write) => write(statements));
    if (is_synced) await this.syncCommitted();
    return rows;
  }

  /** Runs `task` alone in the write queue; `write` commits one batch. */
  exclusive<T>(task: (write: Write) => Promise<T>): Promise<T> {
    this.#queued++;
    const run = this.#queue.then(async () => {
      try {
        this.#mustBeOpen();
        return await task((statements, options) => this.#write(statements, options));
      } finally {
        this.#queued--;
      }
    });
    this.#queue = run.catch(() => {});
    return run;
  }

  /** Makes every earlier batch durable, also a held one. @throws GateError `unavailable` */
  async sync(): Promise<void> {
    this.#mustBeOpen();
    if (this.#held.length > 0) await this.exclusive((write) => write([]));
    await this.syncCommitted();
  }

  /**
   * Makes every earlier batch durable that is not held. All callers that wait at one time share one
   * sync of the file. @throws GateError `unavailable`
   */
  async syncCommitted(): Promise<void> {
    this.#mustBeOpen();
    const isAlone = this.#queued === 0 && this.#nextSync === null;
    if (isAlone && this.#syncing === null) return await this.#beginSync();
    // A sync that has begun may have begun before the commit. Those that waited in the queue for the
    // same folder commit now, one after the other: a sync for the first of them would delay the rest.
    await (this.#nextSync ??= this.#syncAfter(this.#syncing));
  }

  async #syncAfter(earlier: Promise<void> | null): Promise<void> {
    await earlier?.catch(() => {});
    // Whoever commits in this turn of the event loop shares this sync.
    await setImmediate();
    this.#nextSync = null;
    await this.#beginSync();
  }

  #beginSync(): Promise<void> {
    const sync = this.#syncOnce().finally(() => {
      if (this.#syncing === sync) this.#syncing = null;
    });
    return this.#syncing = sync;
  }

  async #syncOnce(): Promise<void> {
    if (this.#unsyncable) throw this.#unsyncable;
    try {
      await this.#whileBusy(() => this.syncLog());
    } catch (cause) {
      const known = explain(cause, this.path);
      const error = Object.assign(new Error(String(cause)), { code: "SQLITE_IOERR" });
      throw this.#unsyncable =
        (known instanceof GateError ? known : explain(error, this.path)) as GateError;
    }
  }

  /** Repeats `task` while this process has no file descriptor left, which says nothing of the disk. */
  async #whileBusy(task: () => Promise<void>): Promise<void> {
    const deadline = performance.now() + this.#busyLimit;
    for (;;) {
      try {
        return await task();
      } catch (error) {
        const code = (error as { code?: string } | null)?.code ?? "";
        if (!NO_FILE_LEFT.has(code) || performance.now() > deadline) throw error;
      }
      await setTimeout(20);
    }
  }

  /** Waits until the disk has the write-ahead log as it is now. */
  syncLog(): Promise<void> {
    return syncFile(`${this.path}-wal`);
  }

  /** Waits for the queue, copies the write-ahead log into the file and closes it. */
  close(): Promise<void> {
    return this.#closing ??= this.exclusive(async () => {
      await this.#heldMayCommit();
      this.#closed = true;
      try {
        if (this.#held.length > 0) this.#connected().batch([]);
        this.#connection?.run({ sql: "PRAGMA wal_checkpoint(TRUNCATE)", args: [] });
      } catch {
        // The log stays beside the file, and the next opening reads both.
      }
      this.#drop();
    });
  }

  async #write(statements: Statement[], options?: BatchOptions): Promise<Row[][]> {
    const is_held = options?.is_held && this.#held.length < MOST_HELD;
    if (this.#unsyncable && !is_held) throw this.#unsyncable;
    const all = statements.map(checked);
    if (is_held && options?.is_postponed) {
      this.#held.push({ statements: all, after: options.after });
      void this.#runPostponed();
      return all.map(() => []);
    }
    if (!is_held) await Promise.all([this.#heldMayCommit(), options?.after]);
    return await this.#retry((connection) => {
      const rows = connection.batch(all, { is_held });
      if (is_held) this.#held.push({ statements: all, after: options?.after });
      else this.#held = [];
      this.#begun = this.#held.length;
      return rows;
    });
  }

  /** Runs the postponed batches when this turn of the event loop has ended. */
  async #runPostponed(): Promise<void> {
    await setImmediate();
    if (this.#closed || this.#begun === this.#held.length) return;
    // The next query or batch meets the same error and reports it.
    await this.#retry(() => {}).catch(() => {});
  }

  async #heldMayCommit(): Promise<void> {
    await Promise.all(this.#held.map(({ after }) => after));
  }

  /** The connection with the held batches in its transaction. */
  #connected(): Connection {
    const connection = this.#connection ??= connect(this.path);
    if (!connection.isInBatch) this.#begun = 0;
    for (const { statements } of this.#held.slice(this.#begun)) {
      try {
        connection.batch(statements, { is_held: true });
      } catch (error) {
        if (codeOf(error) !== "SQLITE_CONSTRAINT") throw error;
        throw new GateError("unavailable", `Cannot use "${this.path}": ${CHANGED[0]}`, {
          next: CHANGED[1],
          cause: error,
        });
      }
      this.#begun++;
    }
    return connection;
  }

  /**
   * libSQL never resets a statement that failed with BUSY. That connection cannot commit any more and
   * its next transaction would lock out all others, so each retry opens a new one.
   */
  async #retry<T>(task: (connection: Connection) => T): Promise<T> {
    const deadline = performance.now() + this.#busyLimit;
    for (let attempt = 0;; attempt++) {
      try {
        return task(this.#connected());
      } catch (error) {
        const code = codeOf(error);
        if (RECONNECT.has(code) || !this.#connection?.isOpen) this.#drop();
        if (!RETRY.has(code) || performance.now() > deadline) throw explain(error, this.path);
        // The lock may be that of a connection that this process has closed.
        if (attempt % COLLECT_EVERY === COLLECT_EVERY - 1) releaseMemory();
      }
      await setTimeout(Math.min(250, 2 ** attempt) * (0.5 + Math.random()));
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

const NO_FILE_LEFT = new Set(["EMFILE", "ENFILE"]);
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

/** The statement. @throws GateError `invalid` for a text with a NUL character */
export function checked(statement: Statement): Statement {
  for (const arg of statement.args) {
    // libSQL reads a text only up to its first NUL, so the rest would be lost.
    if (typeof arg === "string" && arg.includes("\0")) {
      throw new GateError(
        "invalid",
        "Cannot insert the record: a text contains a NUL character; " +
          "remove it and send the request again",
      );
    }
  }
  return statement;
}

function closedError(path: string): GateError {
  return new GateError("unavailable", `Cannot use "${path}": it is closed`);
}

/** The error's primary libSQL code, as `SQLITE_IOERR` for `SQLITE_IOERR_FSYNC`, or "". */
function codeOf(error: unknown): string {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  if (code === "" && CANNOT_OPEN.test(String(message))) return "SQLITE_CANTOPEN";
  const number = NUMBERED.exec(String(code))?.[1];
  // The low byte of an extended code is the primary one.
  if (number !== undefined) return PRIMARY[Number(number) & 0xff] ?? String(code);
  return typeof code === "string" ? /^SQLITE_[A-Z]+/.exec(code)?.[0] ?? code : "";
}

/** libSQL gives the error of opening a file no code, but its text ends with SQLite's number. */
const CANNOT_OPEN = /^ConnectionFailed\(.*: 14"?\)/s;

/** libSQL names some extended codes only by their number. */
const NUMBERED = /^UNKNOWN_SQLITE_ERROR_(\d+)$/;

const PRIMARY: Record<number, string> = {
  5: "SQLITE_BUSY",
  6: "SQLITE_LOCKED",
  8: "SQLITE_READONLY",
  10: "SQLITE_IOERR",
  11: "SQLITE_CORRUPT",
  13: "SQLITE_FULL",
  14: "SQLITE_CANTOPEN",
  15: "SQLITE_PROTOCOL",
  19: "SQLITE_CONSTRAINT",
  26: "SQLITE_NOTADB",
};

/** True when the error says that the file itself is broken. */
export function isDamage(error: unknown): boolean {
  if (error instanceof GateError && error.cause) return isDamage(error.cause);
  const code = codeOf(error);
  return code === "SQLITE_CORRUPT" || code === "SQLITE_NOTADB";
}

/** The columns of the violated UNIQUE constraint; null for any other error. */
export function brokenUnique(error: unknown): string | null {
  if (codeOf(error) !== "SQLITE_CONSTRAINT") return null;
  return /UNIQUE constraint failed: (.*)$/.exec((error as Error).message)?.[1] ?? null;
}

/** The error for a caller: what is wrong with the file, and what to do. */
export function explain(error: unknown, path: string): unknown {
  const explained = EXPLAINED[codeOf(error)];
  if (!explained) return error;
  const [why, next] = explained;
  return new GateError("unavailable", `Cannot use "${path}": ${why}`, { cause: error, next });
}

type Explained = [why: string, next: string];

const DAMAGED: Explained = [
  "it is damaged",
  "gate daemon restart, which moves it aside and creates a new one",
];
const CHANGED: Explained = [
  "another program has changed it",
  "gate daemon restart, which reads it again",
];
const LOCKED: Explained = ["another process keeps it locked", "stop that process and try again"];
const FULL: Explained = ["the disk is full", "free some space and try again"];
const READ_ONLY: Explained = [
  "it is read-only",
  "make it and its folder writable and try again",
];

const EXPLAINED: Record<string, Explained> = {
  SQLITE_BUSY: LOCKED,
  SQLITE_LOCKED: LOCKED,
  SQLITE_CORRUPT: DAMAGED,
  SQLITE_NOTADB: DAMAGED,
  SQLITE_FULL: FULL,
  SQLITE_IOERR: ["the disk reports an error", "check it and try again"],
  SQLITE_READONLY: READ_ONLY,
  SQLITE_CANTOPEN: ["it cannot be opened", "check that its folder exists and is writable"],
  ENOSPC: FULL,
  EDQUOT: FULL,
  EACCES: READ_ONLY,
  EPERM: READ_ONLY,
  EROFS: READ_ONLY,
};
