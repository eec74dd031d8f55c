import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { AuditEvent, Checkpoint } from "../evidence/schema.ts";
import { GateError } from "../errors.ts";
import { canonical, GENESIS, type Head } from "../evidence/chain.ts";
import { link } from "./chain.ts";
import { insertCheckpoint } from "./checkpoints.ts";
import type { Database } from "./database.ts";
import { brokenUnique } from "./failures.ts";
import type { Change, Committed, Ledger, NewEvent, Row, Statement, Value } from "./ledger.ts";
import { LEDGER_MIGRATIONS } from "./ledger_migrations.ts";
import { type OwnerLock, takeOwnership } from "./owner.ts";
import { openSound } from "./sound.ts";

/** A checkpoint is signed whenever the chain passes a multiple of this. */
const CHECKPOINT_EVERY = 1_000;

/** More events of one change go into a second statement. */
const MOST_ROWS = 16;

/** How long a commit follows a head that others keep moving. */
const MOVED_LIMIT_MS = 10_000;

export interface LedgerOptions {
  project_id: string;
  /** The folder of `ledger.db` and `owner.db`. */
  folder: string;
  pid: number;
  now: () => number;
  /** Takes secrets out of an event before it is hashed. */
  redact: (event: NewEvent) => NewEvent;
  /** Signs a head of the chain. */
  sign: (head: Head & { project_id: string; at: string }) => Checkpoint;
  /** Hears the events of each commit, in order, after it is durable. */
  publish: (events: readonly AuditEvent[]) => void;
}

/**
 * Opens a project's ledger for this process alone. A damaged file is moved aside, never deleted,
 * and a new ledger begun; `moved_to` then says where the old one is.
 */
export async function openLedger(
  options: LedgerOptions,
): Promise<{ ledger: Ledger; moved_to: string | null }> {
  mkdirSync(options.folder, { recursive: true, mode: 0o700 });
  const owner = takeOwnership(options.folder, options.pid);
  try {
    const { database, moved_to } = await openSound(join(options.folder, "ledger.db"), {
      migrations: LEDGER_MIGRATIONS,
      now: options.now,
    });
    const ledger = new FileLedger(database, owner, options, await readHead(database, options));
    return { ledger, moved_to };
  } catch (error) {
    owner.release();
    throw error;
  }
}

async function readHead(database: Database, options: { project_id: string }): Promise<Head> {
  const rows = await database.all(
    // As bytes: libSQL ends the process where a text is no UTF-8, and a check has to tell of it.
    "SELECT seq, CAST(hash AS BLOB) AS hash FROM audit WHERE project_id = ? ORDER BY seq DESC LIMIT 1",
    [options.project_id],
  );
  const row = rows[0];
  if (!row) return GENESIS;
  return { seq: Number(row.seq), hash: new TextDecoder().decode(row.hash as Uint8Array) };
}

class FileLedger implements Ledger {
  readonly project_id: string;
  readonly #database: Database;
  readonly #owner: OwnerLock;
  readonly #options: LedgerOptions;
  #head: Head;

  constructor(database: Database, owner: OwnerLock, options: LedgerOptions, head: Head) {
    this.project_id = options.project_id;
    this.#database = database;
    this.#owner = owner;
    this.#options = options;
    this.#head = head;
  }

  get head(): Head {
    return this.#head;
  }

  all(sql: string, args: Value[] = []): Promise<Row[]> {
    return this.#database.all(sql, args);
  }

  async commit(change: Change): Promise<Committed> {
    const events = change.events.map(this.#options.redact);
    const committed = await this.#database.exclusive((write) =>
      this.#append({ ...change, events }, write)
    );
    if (committed.events.length > 0) this.#options.publish(committed.events);
    return committed;
  }

  async close(): Promise<void> {
    await this.#database.close();
    this.#owner.release();
  }

  async #append(change: Change, write: Write): Promise<Committed> {
    const deadline = performance.now() + MOVED_LIMIT_MS;
    for (let attempt = 0;; attempt++) {
      const at = new Date(this.#options.now()).toISOString();
      const linked = link(this.#head, change.events, { project_id: this.project_id, at });
      try {
        return this.#settle(change, linked, await write(this.#statements(change, linked)));
      } catch (error) {
        if (!brokenUnique(error)?.startsWith("audit.")) throw refusal(error);
        if (performance.now() > deadline) throw movedError(this.project_id, error);
        await this.#follow(error);
        await pause(Math.min(250, 2 ** attempt) * Math.random());
      }
    }
  }

  /** Reads the head again; when nobody moved it, the change itself is what does not fit. */
  async #follow(error: unknown): Promise<void> {
    const before = this.#head;
    this.#head = await readHead(this.#database, this.#options);
    if (this.#head.hash === before.hash) throw refusal(error);
  }

  #statements(change: Change, linked: AuditEvent[]): Statement[] {
    const inserts = chunksOf(linked, MOST_ROWS)
      .map((events) => insertEvents(events, change.when));
    const last = linked.at(-1);
    const isDue = last && Math.floor(last.seq / CHECKPOINT_EVERY) >
        Math.floor(this.#head.seq / CHECKPOINT_EVERY);
    const checkpoint = isDue ? [insertCheckpoint(this.#options.sign(last))] : [];
    return [...change.statements, ...inserts, ...checkpoint];
  }

  #settle(change: Change, linked: AuditEvent[], rows: Row[][]): Committed {
    const own = rows.slice(0, change.statements.length);
    const first = rows[change.statements.length];
    // RETURNING says who won: rowsAffected is 0 on a file and 1 on a server.
    const isAppended = linked.length > 0 && first !== undefined && first.length > 0;
    const last = linked.at(-1);
    if (isAppended && last) this.#head = { seq: last.seq, hash: last.hash };
    return { rows: own, events: isAppended ? linked : [] };
  }
}

type Write = (statements: Statement[]) => Promise<Row[][]>;

/** One statement for what belongs together: the columns of each event and, once, the condition. */
function insertEvents(events: AuditEvent[], when: Statement | undefined): Statement {
  const condition = when ? ` WHERE EXISTS (${when.sql})` : "";
  const rows = events.map(() => "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)").join(", ");
  return {
    sql: `INSERT INTO audit
      (project_id, seq, at, session_id, action_id, type, actor, data, prev_hash, hash)
      SELECT * FROM (VALUES ${rows})${condition} RETURNING seq`,
    args: [...events.flatMap(valuesOf), ...(when?.args ?? [])],
  };
}

function valuesOf(event: AuditEvent): Value[] {
  const { project_id, seq, at, session_id, action_id, type, prev_hash, hash } = event;
  const actor = canonical(event.actor);
  const data = canonical(event.data);
  return [project_id, seq, at, session_id, action_id, type, actor, data, prev_hash, hash];
}

function chunksOf<T>(all: T[], most: number): T[][] {
  return Array.from(
    { length: Math.ceil(all.length / most) },
    (_, n) => all.slice(n * most, (n + 1) * most),
  );
}

function refusal(error: unknown): unknown {
  const columns = brokenUnique(error);
  if (columns === null) return error;
  const message = `Cannot save the change: ${columns} stands already; fetch it again`;
  return new GateError("conflict", message, { cause: error });
}

function movedError(project_id: string, cause: unknown): GateError {
  const message = `Cannot save to the ledger of "${project_id}": others keep writing to it; ` +
    "try again";
  return new GateError("unavailable", message, { cause });
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
