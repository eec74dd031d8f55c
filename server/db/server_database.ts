import type { Client, InValue, ResultSet } from "@libsql/client/http";
import { Buffer } from "node:buffer";
import { setTimeout } from "node:timers/promises";
import { GateError } from "../errors.ts";
import type { BatchOptions } from "./connection.ts";
import { checked } from "./database.ts";
import type { LedgerDatabase, Write } from "./database.ts";
import type { Row, Statement, Value } from "./ledger.ts";

/** The longest time for one request, apart from the first. */
const REQUEST_MS = 30_000;

/** The first request shows whether the server is there. */
const FIRST_MS = 5_000;

/** How long a batch is repeated while the server is busy with others. */
const BUSY_LIMIT_MS = 10_000;

/** The largest answer that is read: a server must not fill the memory of the other projects. */
const MOST_BYTES = 256 * 1024 * 1024;

/** The address of one database on a libSQL server. */
export interface ServerAddress {
  url: string;
  token: string | null;
}

interface ServerOptions {
  /** Called once, when the server stops answering. Every later call fails with the same error. */
  lost?: (error: GateError) => void;
  /** The largest answer in bytes, unpacked. */
  most_bytes?: number;
}

/** The condition of every batch. */
interface Fence {
  statement: Statement;
  /** Reads why the statement has failed. */
  explain: (database: Pick<LedgerDatabase, "all" | "path">) => Promise<GateError>;
}

/** The client of a server, and whether an error is one of the client's own. */
interface Reached {
  client: Client;
  isOfServer: (error: unknown) => boolean;
}

/**
 * One database on a libSQL server, with the queue and the promises of a `Database`. An acknowledged
 * commit is as durable as the server makes it. After a request without an answer nobody knows
 * whether it was carried out, so the database then refuses every call: the next open reads the
 * committed state.
 */
export class ServerDatabase implements LedgerDatabase {
  readonly path: string;
  readonly is_remote = true;
  readonly #client: Client;
  readonly #isOfServer: (error: unknown) => boolean;
  readonly #lost: (error: GateError) => void;
  /** Its statement runs first in every batch, and fails once this process no longer holds the ledger. */
  #fence: Fence | null = null;
  #queue: Promise<unknown> = Promise.resolve();
  readonly #reads = new Set<Promise<unknown>>();
  #writing: Promise<unknown> | null = null;
  #ended: GateError | null = null;

  private constructor(path: string, { client, isOfServer }: Reached, options: ServerOptions) {
    this.path = path;
    this.#client = client;
    this.#isOfServer = isOfServer;
    this.#lost = options.lost ?? (() => {});
  }

  /** Connects and asks once. @throws GateError `unavailable` when the server does not answer */
  static async open(
    { url, token }: ServerAddress,
    options: ServerOptions = {},
  ): Promise<ServerDatabase> {
    // Loaded here, because most homes have no server.
    const { createClient, LibsqlError } = await import("@libsql/client/http");
    const limits = { ms: FIRST_MS, bytes: options.most_bytes ?? MOST_BYTES };
    const client = createClient({
      url,
      ...token !== null && { authToken: token },
      // A redirect would carry the token to another server.
      fetch: async (request: Request) =>
        await bounded(
          await fetch(request, { redirect: "error", signal: AbortSignal.timeout(limits.ms) }),
          limits.bytes,
        ),
    });
    const isOfServer = (error: unknown) => error instanceof LibsqlError;
    const database = new ServerDatabase(url, { client, isOfServer }, options);
    await database.all("SELECT 1");
    limits.ms = REQUEST_MS;
    return database;
  }

  /** From now on every batch fails unless this statement succeeds; `explain` then tells the cause. */
  guardBy(statement: Statement, explain: Fence["explain"]): void {
    this.#fence = { statement, explain };
  }

  /**
   * The rows of a query. A batch waits for the queries that began before it, and a query for the
   * batch before it, so queries that begin together see the same state.
   */
  async all(sql: string, args: Value[] = []): Promise<Row[]> {
    this.#mustBeUsable();
    const statement = checked({ sql, args });
    const before = this.#writing;
    const read = (async () => {
      await before;
      const read = () => this.#client.execute(toSent(statement));
      return rowsOf(await this.#send(read, wasAnswered));
    })();
    this.#reads.add(read);
    try {
      return await read;
    } finally {
      this.#reads.delete(read);
    }
  }

  /** Commits all of the statements or none. */
  batch(statements: Statement[]): Promise<Row[][]> {
    return this.exclusive((write) => write(statements));
  }

  exclusive<T>(task: (write: Write) => Promise<T>): Promise<T> {
    const run = this.#queue.then(() => {
      this.#mustBeUsable();
      return task((statements, options) => this.#write(statements, options));
    });
    this.#queue = run.catch(() => {});
    return run;
  }

  /** The server has made every commit durable that it acknowledged. */
  sync(): Promise<void> {
    return Promise.resolve();
  }

  syncCommitted(): Promise<void> {
    return Promise.resolve();
  }

  /** Waits for the queue and closes the connection. */
  async close(): Promise<void> {
    await this.#queue;
    this.#ended ??= new GateError("unavailable", `Cannot use "${this.path}": it is closed`);
    this.#client.close();
  }

  async #write(statements: Statement[], options?: BatchOptions): Promise<Row[][]> {
    const all = statements.map(checked);
    await options?.after;
    const earlier = [...this.#reads];
    const written = (async () => {
      await Promise.allSettled(earlier);
      return await this.#commit(all);
    })();
    this.#writing = written.catch(() => {});
    try {
      return await written;
    } finally {
      this.#writing = null;
    }
  }

  async #commit(statements: Statement[]): Promise<Row[][]> {
    if (statements.length === 0) return [];
    const fence = this.#fence === null ? [] : [this.#fence.statement];
    const sent = [...fence, ...statements].map(toSent);
    const deadline = performance.now() + BUSY_LIMIT_MS;
    for (let attempt = 0;; attempt++) {
      try {
        const results = await this.#send(() => this.#client.batch(sent, "write"), wasRolledBack);
        return results.slice(fence.length).map(rowsOf);
      } catch (error) {
        if (this.#fence && isAtFirst(error)) throw await this.#endBy(this.#fence);
        const isBusy = codeOf(error) === "SQLITE_BUSY" && performance.now() < deadline;
        if (!isBusy) throw error;
        await setTimeout(Math.min(250, 2 ** attempt) * (0.5 + Math.random()));
      }
    }
  }

  /** After an error that is no answer of the database, the outcome is unknown. */
  async #send<T>(
    request: () => Promise<T>,
    isAnswer: (error: unknown) => boolean,
  ): Promise<T> {
    this.#mustBeUsable();
    try {
      return await request();
    } catch (error) {
      // Bun gives the errors of a connection a code too.
      if (this.#isOfServer(error) && isAnswer(error)) throw error;
      throw this.#end(awayError(this.path, error));
    }
  }

  /** Ends the use of a database that this process no longer holds. */
  async #endBy({ explain }: Fence): Promise<GateError> {
    const read = async (sql: string, args: Value[] = []) =>
      rowsOf(await this.#send(() => this.#client.execute(toSent({ sql, args })), wasAnswered));
    try {
      return this.#end(await explain({ path: this.path, all: read }));
    } catch (error) {
      return this.#end(awayError(this.path, error));
    }
  }

  #end(error: GateError): GateError {
    if (this.#ended) return this.#ended;
    this.#ended = error;
    this.#lost(error);
    return error;
  }

  #mustBeUsable(): void {
    if (this.#ended) throw this.#ended;
  }
}

class AnswerTooLarge extends Error {
  readonly most: number;

  constructor(most: number) {
    super();
    this.most = most;
  }
}

/** The whole answer, unpacked. @throws AnswerTooLarge */
async function bounded(response: Response, most: number): Promise<Response> {
  if (response.body === null) return response;
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of response.body) {
    bytes += piece.byteLength;
    if (bytes > most) throw new AnswerTooLarge(most);
    pieces.push(piece);
  }
  const { status, headers } = response;
  return new Response(Buffer.concat(pieces), { status, headers });
}

/** The client's codes for a request without an answer of the database. */
const NO_ANSWER = new Set([
  "",
  "UNKNOWN",
  "SERVER_ERROR",
  "INTERNAL_ERROR",
  "HRANA_PROTO_ERROR",
  "HRANA_CLOSED_ERROR",
  "PROTOCOL_VERSION_ERROR",
]);

function wasAnswered(error: unknown): boolean {
  return !NO_ANSWER.has(codeOf(error));
}

/** An error of SQL undoes its batch. The server may have cut a batch off in another way. */
function wasRolledBack(error: unknown): boolean {
  return /^SQL(?:ITE)?_/.test(codeOf(error));
}

/** A server of ledgers cannot be used now. */
export class ServerAway extends GateError {
  readonly why: string;
  /** The step of a person before the command is repeated. */
  readonly remedy: string;

  constructor(message: string, { why, remedy }: { why: string; remedy: string }) {
    super("unavailable", message, { fields: { server: "away", retry_after_s: 5 } });
    this.why = why;
    this.remedy = remedy;
  }
}

/** Whether the error says that a server does not answer, so that trying again later may help. */
export function isAway(error: unknown): error is ServerAway {
  return error instanceof ServerAway;
}

/** What a person does about a server that does not answer; null for any other error. */
export function nextStepOf(error: unknown): string | null {
  return isAway(error) ? `${error.remedy}, then gate hub status` : null;
}

const SET_TOKEN = 'set the variable that "storage.authTokenEnv" names and run gate daemon restart';

function awayError(url: string, cause: unknown): ServerAway {
  const status = Number(/HTTP status (\d{3})/.exec(String((cause as Error)?.message))?.[1] ?? 0);
  const cannot = `Cannot use the ledger on ${url}`;
  if (status === 401 || status === 403) {
    const why = "the server refuses the token";
    return new ServerAway(`${cannot}: ${why}; ${SET_TOKEN}`, { why, remedy: SET_TOKEN });
  }
  const again = "gate asks it again every few seconds and goes on by itself, so send the request " +
    "again later";
  if (status === 404) {
    const why = "the server has no such database";
    const message = `${cannot}: ${why}; create it, or wait; ${again}`;
    return new ServerAway(message, { why, remedy: "create it on the server" });
  }
  const why = cause instanceof AnswerTooLarge
    ? `the server answers with more than ${cause.most / 1024 / 1024} MiB`
    : `the server does not answer${status > 0 ? ` (HTTP ${status})` : ""}`;
  return new ServerAway(`${cannot}: ${why}; ${again}`, {
    why,
    remedy: "start the server or its network",
  });
}

/** The fence fails with an error of its own; a broken connection has no place in the batch. */
function isAtFirst(error: unknown): boolean {
  const { statementIndex, message } = error as { statementIndex?: number; message?: string };
  return statementIndex === 0 && message?.includes("malformed JSON") === true;
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : "";
}

function toSent({ sql, args }: Statement): { sql: string; args: InValue[] } {
  return { sql, args };
}

function rowsOf({ columns, rows }: ResultSet): Row[] {
  return rows.map((values) => {
    const row: Row = {};
    for (const [at, name] of columns.entries()) row[name] = toValue(values[at]);
    return row;
  });
}

function toValue(value: unknown): Value {
  return value instanceof ArrayBuffer ? new Uint8Array(value) : value as Value;
}
