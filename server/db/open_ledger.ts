import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { AuditEvent, Checkpoint } from "../evidence/schema.ts";
import { GateError } from "../errors.ts";
import { type Head } from "../evidence/chain.ts";
import { insertCheckpoint, link, type Linked } from "./chain.ts";
import { brokenUnique, type LedgerDatabase, type Write } from "./database.ts";
import { openChecked } from "./health.ts";
import type {
  Change,
  Committed,
  Ledger,
  Machine,
  MachineName,
  NewEvent,
  PassedAnswer,
  Row,
  SharingMachine,
  Statement,
  Value,
} from "./ledger.ts";
import { LEDGER_MIGRATIONS } from "./ledger_migrations.ts";
import { findMachine, hasMachines, listMachines, noteGone, stamped } from "./machines.ts";
import { migrate, type Migration, requireNoNewer } from "./migrate.ts";
import { Mirror } from "./mirror.ts";
import { type Passed, Passing } from "./passing.ts";
import { type OwnerLock, takeOwnership } from "./owner.ts";
import {
  guardCopy,
  type Placement,
  readPlacement,
  requireNotMoved,
  setAside,
  takeCopy,
} from "./placement.ts";
import { Projector } from "./projector.ts";
import { readHead } from "./read_head.ts";
import { type ServerAddress, ServerDatabase } from "./server_database.ts";
import { requireMigratable } from "./sharing_schema.ts";
import { Tail } from "./tail.ts";
import { noteNextBlock } from "./word_blocks.ts";
import { noteNextGroup } from "./word_groups.ts";

/** The chain gets a signed checkpoint after each multiple of this many events. */
const CHECKPOINT_EVERY = 1_000;

/** Events in one INSERT; further events of a change go into another one. */
const MOST_ROWS = 16;

/** A derivable commit is synced after this time, before the registry's next write. */
const SYNC_MS = 50;

/** How long a commit is retried while other writers extend the chain. */
const MOVED_LIMIT_MS = 10_000;

export interface LedgerOptions {
  project_id: string;
  /** The folder of `ledger.db` and `owner.db`. */
  folder: string;
  pid: number;
  now: () => number;
  /** Removes secrets from an event before it is hashed. */
  redact: (event: NewEvent) => NewEvent;
  /** Signs a head of the chain. */
  sign: (head: Head & { project_id: string; at: string }) => Checkpoint;
  /** Receives the events of each commit, in order. */
  publish: (events: readonly AuditEvent[]) => void;
  /** Receives the same events, in order, when they are durable. */
  noteDurable: (events: readonly AuditEvent[]) => void;
  /** How to reach a ledger on the server with that address. @throws GateError `unavailable` */
  reach?: (url: string) => Promise<ServerAddress>;
  /** The name of this machine among those that share a ledger. */
  own?: () => MachineName;
  /** Whether somebody waits for an event of a ledger that several machines share. */
  isWaiting?: () => boolean;
  /** Receives the events that other machines have committed, before they are published. */
  hear?: (events: readonly AuditEvent[]) => void;
  /** Carries out a request that another machine passes on. It must not throw. */
  serve?: (request: unknown) => Promise<PassedAnswer>;
  /** The schema of this release; only tests give another. */
  migrations?: Migration[];
  /** Told after each durable commit null, and after a commit that the disk refused its error. */
  noteSaved?: (error: GateError | null) => void;
  /** Called when the server of the ledger stops answering: the ledger must be closed. */
  lost?: (error: GateError) => void;
}

/**
 * Opens a project's ledger for this process alone. A damaged file is moved aside, never deleted,
 * and a new ledger is created; `moved_to` is then the path of the old one.
 */
export async function openLedger(
  options: LedgerOptions,
): Promise<{ ledger: Ledger; moved_to: string | null }> {
  mkdirSync(options.folder, { recursive: true, mode: 0o700 });
  const owner = takeOwnership(options.folder, options.pid);
  try {
    const placement = readPlacement(options.folder);
    if (placement) {
      return { ledger: await openOnServer(options, owner, placement), moved_to: null };
    }
    const { database, moved_to } = await openChecked(join(options.folder, "ledger.db"), {
      migrations: options.migrations ?? LEDGER_MIGRATIONS,
      now: options.now,
      // The owner may have ended because of a text that is not UTF-8.
      reads_all: owner.was_left,
    });
    const ledger = await orClose(database, async () => {
      await requireNotMoved(database);
      // A killed daemon leaves commits that a power cut could still take.
      await database.sync();
      const head = await readHead(database, options.project_id);
      return new OwnedLedger(database, owner, options, {
        head,
        machine: await machineHere(database, options),
      });
    });
    return { ledger, moved_to };
  } catch (error) {
    owner.release();
    throw error;
  }
}

async function openOnServer(
  options: LedgerOptions,
  owner: OwnerLock,
  placement: Placement,
): Promise<Ledger> {
  const { project_id, folder, reach, lost, now, own, migrations = LEDGER_MIGRATIONS } = options;
  if (!reach || !own) {
    throw new GateError("unavailable", "Cannot open the ledger: it is on a server");
  }
  const database = await ServerDatabase.open(await reach(placement.url), { ...lost && { lost } });
  return await orClose(database, async () => {
    await requireNoNewer(database, migrations);
    const at = new Date(now()).toISOString();
    const schema = migrations.at(-1)!.version;
    const taken = await takeCopy(database, placement, { project_id, own: own(), at, schema });
    const { machine } = taken;
    await requireMigratable(database, migrations, machine.id);
    await migrate(database, migrations, now);
    guardCopy(database, placement, { ...taken, schema });
    const head = await readHead(database, options.project_id);
    await setAside(folder, placement);
    const mirror = await Mirror.open(folder, database, { project_id, machine, placement, now });
    return new OwnedLedger(database, owner, options, { head, machine, mirror });
  });
}

/** This machine in a ledger that was on a server; null if no other one ever used it. */
async function machineHere(
  database: LedgerDatabase,
  { own }: LedgerOptions,
): Promise<Machine | null> {
  if (!own || !await hasMachines(database)) return null;
  const { id } = own();
  // A home that lost its id finds nothing of its own there.
  return await findMachine(database, id) ?? { id, is_first: false };
}

async function orClose<T>(database: LedgerDatabase, open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** The events of one commit. */
interface Unpublished {
  events: AuditEvent[];
  /** Whether its caller does not wait for the disk. */
  isReady: boolean;
}

class OwnedLedger implements Ledger {
  readonly project_id: string;
  readonly #database: LedgerDatabase;
  readonly #owner: OwnerLock;
  readonly #options: LedgerOptions;
  readonly #projector: Projector;
  #head: Head;
  #durable: Head;
  /** Committed events that a power cut may still take, oldest first. */
  #unsynced: AuditEvent[] = [];
  /** Committed events whose callers still wait for the disk, and what came after those. */
  #unpublished: Unpublished[] = [];
  #timer: ReturnType<typeof globalThis.setTimeout> | null = null;
  #isClosing = false;
  readonly machine: Machine | null;
  readonly #mirror: Mirror | null;
  /** Where several machines may commit. */
  readonly #tail: Tail | null;
  readonly #passing: Passing | null;

  constructor(
    database: LedgerDatabase,
    owner: OwnerLock,
    options: LedgerOptions,
    { head, machine, mirror = null }: {
      head: Head;
      machine: Machine | null;
      mirror?: Mirror | null;
    },
  ) {
    this.#mirror = mirror;
    this.machine = machine;
    this.project_id = options.project_id;
    this.#database = database;
    this.#owner = owner;
    this.#options = options;
    this.#head = head;
    this.#durable = head;
    const exclusive = <T>(task: (write: Write) => Promise<T>) => database.exclusive(task);
    const all = (sql: string, args?: Value[]) => database.all(sql, args);
    const words = { project_id: options.project_id, all, exclusive };
    this.#projector = new Projector({
      exclusive,
      // A block is many rows: too much to read over a network.
      ...!database.is_remote &&
        { idle: async () => await noteNextBlock(words) || await noteNextGroup(words) },
    });
    const machine_id = machine !== null && database.is_remote ? machine.id : null;
    const { isWaiting = () => false, serve } = options;
    const passing = this.#passing = machine_id !== null && serve
      ? new Passing({ database, machine_id, serve })
      : null;
    this.#tail = machine_id !== null
      ? new Tail({
        database,
        project_id: options.project_id,
        machine_id,
        after: head.seq,
        isWaiting: () => isWaiting() || passing?.isHot === true,
        takeRequests: async () => await passing?.takeAll(),
        deliver: (events, others) => this.#deliver(events, others),
      })
      : null;
  }

  get head(): Head {
    return this.#head;
  }

  get durable(): Head {
    return this.#durable;
  }

  all(sql: string, args: Value[] = []): Promise<Row[]> {
    return this.#projector.read(sql, () => this.#database.all(sql, args));
  }

  caughtUp<T>(sql: string, read: () => Promise<T>): Promise<T> {
    return this.#projector.read(sql, read);
  }

  catchUp(): Promise<void> {
    return this.#projector.catchUp();
  }

  async commit(change: Change): Promise<Committed> {
    const { noteSaved } = this.#options;
    try {
      const committed = await this.#commit(change);
      // The disk may not have a derivable one yet.
      if (!change.is_derivable) noteSaved?.(null);
      return committed;
    } catch (error) {
      const isRefused = error instanceof GateError && error.code === "unavailable";
      if (isRefused && !this.#isClosing) noteSaved?.(error);
      throw error;
    }
  }

  async #commit(change: Change): Promise<Committed> {
    const { machine } = this;
    const { redact } = this.#options;
    const events = change.events.map((event) => stamped(redact(event), machine));
    // Its head is known before it runs, so its events must not depend on a row.
    const when = change.is_certain && !this.#database.is_remote ? undefined : change.when;
    const committed = await this.#database.exclusive((write) =>
      this.#append({ ...change, events, when }, write)
    );
    const last = committed.events.at(-1);
    if (this.#tail) {
      if (last) change.on_appended?.();
      // The commit stands even if the server then goes away, which closes the ledger.
      await this.#tail.follow(committed.events).catch(() => {});
      return committed;
    }
    const isReady = change.is_derivable ?? false;
    if (last) {
      this.#unsynced.push(...committed.events);
      this.#unpublished.push({ events: committed.events, isReady });
    }
    if (isReady) {
      this.#publishReady();
      if (last) this.#timer ??= this.#startTimer();
      return committed;
    }
    const synced = this.#database.syncCommitted();
    if (last) change.on_appended?.();
    await synced;
    if (last) {
      this.#publishReady(last);
      this.#noteDurable(last);
    }
    return committed;
  }

  async listMachines(): Promise<SharingMachine[]> {
    return this.#tail ? await listMachines(this.#database) : [];
  }

  async pass(machine_id: string, request: unknown): Promise<Passed> {
    if (!this.#passing) throw new Error("no other machine shares the ledger");
    return await this.#passing.pass(machine_id, request);
  }

  async sync(): Promise<void> {
    if (this.#tail) return await this.#tail.catchUp();
    const last = this.#unsynced.at(-1);
    if (!last) return;
    await this.#database.sync();
    this.#noteDurable(last);
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#projector.close();
    if (this.#tail) {
      await this.#tail.close();
      await this.#database.batch([noteGone(this.machine!.id)]).catch(() => {});
    } else {
      // The registry then remembers an older head, which is safe.
      await this.sync().catch(() => {});
    }
    this.#stopTimer();
    await this.#database.close();
    await this.#mirror?.close();
    this.#owner.release();
  }

  /** Receives what all machines have committed, in the order of the chain. */
  async #deliver(events: readonly AuditEvent[], others: readonly AuditEvent[]): Promise<void> {
    const { seq, hash } = events.at(-1)!;
    if (seq > this.#head.seq) this.#head = { seq, hash };
    if (others.length > 0) this.#projector.note();
    await this.#mirror?.note(events);
    this.#durable = { seq, hash };
    if (others.length > 0) this.#options.hear?.(others);
    this.#options.publish(events);
    this.#options.noteDurable(events);
  }

  /**
   * Publishes in the order of the chain what is ready, and everything up to `last`. A listener may ask
   * at once for what the caller keeps in memory after its commit, so it hears of it no earlier.
   */
  #publishReady(last?: AuditEvent): void {
    const until = last?.seq ?? 0;
    const isHeldUp = ({ events, isReady }: Unpublished) => !isReady && events.at(-1)!.seq > until;
    const at = this.#unpublished.findIndex(isHeldUp);
    const ready = this.#unpublished.splice(0, at < 0 ? this.#unpublished.length : at);
    if (ready.length > 0) this.#options.publish(ready.flatMap(({ events }) => events));
  }

  /** The events up to `last` are durable: the write-ahead log is synced as a whole. */
  #noteDurable({ seq }: AuditEvent): void {
    const later = this.#unsynced.findIndex((event) => event.seq > seq);
    const durable = this.#unsynced.splice(0, later < 0 ? this.#unsynced.length : later);
    if (this.#unsynced.length === 0) this.#stopTimer();
    const last = durable.at(-1);
    if (!last) return;
    this.#durable = { seq: last.seq, hash: last.hash };
    this.#options.noteDurable(durable);
  }

  #startTimer() {
    const timer = globalThis.setTimeout(() => {
      this.#timer = null;
      this.sync().catch(() => {
        // A disk that fails here fails the next commit too, which says so.
        this.#timer ??= this.#startTimer();
      });
    }, SYNC_MS);
    timer.unref();
    return timer;
  }

  #stopTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  async #append(change: Change, write: Write): Promise<Committed> {
    const deadline = performance.now() + MOVED_LIMIT_MS;
    for (let attempt = 0;; attempt++) {
      const at = new Date(this.#options.now()).toISOString();
      const head = this.#head;
      const linked = link(head, change.events, { project_id: this.project_id, at });
      // Before the write: a query that sees the new rows must not take a derived table for current.
      this.#projector.note();
      try {
        const rows = await write(this.#statements(change, linked, head), {
          is_held: change.is_derivable,
          is_postponed: change.is_certain,
          after: change.durable_after,
        });
        return this.#conclude(change, linked, rows);
      } catch (error) {
        if (!brokenUnique(error)?.startsWith("audit.")) throw refusal(error);
        if (performance.now() > deadline) throw movedError(this.project_id, error);
        await this.#readHeadAgain(head, error);
        await setTimeout(Math.min(250, 2 ** attempt) * Math.random());
      }
    }
  }

  /** Reads the head again. If it did not move, the change itself violates the constraint. */
  async #readHeadAgain(before: Head, error: unknown): Promise<void> {
    this.#head = await readHead(this.#database, this.project_id);
    if (this.#head.hash === before.hash) throw refusal(error);
  }

  #statements(change: Change, linked: Linked[], head: Head): Statement[] {
    const inserts = chunksOf(linked, MOST_ROWS)
      .map((events) => insertEvents(events, change.when));
    const last = linked.at(-1)?.event;
    const isDue = last && Math.floor(last.seq / CHECKPOINT_EVERY) >
        Math.floor(head.seq / CHECKPOINT_EVERY);
    const checkpoint = isDue ? [insertCheckpoint(this.#options.sign(last))] : [];
    return [...change.statements, ...inserts, ...checkpoint];
  }

  #conclude(change: Change, linked: Linked[], rows: Row[][]): Committed {
    const own = rows.slice(0, change.statements.length);
    const first = rows[change.statements.length];
    // RETURNING shows whether the condition held; the count of rows is wrong for some drivers.
    const isHeld = change.when === undefined || (first !== undefined && first.length > 0);
    const isAppended = linked.length > 0 && isHeld;
    const last = linked.at(-1)?.event;
    if (isAppended && last) {
      this.#head = { seq: last.seq, hash: last.hash };
      if (this.#tail) { for (const { event } of linked) this.#tail.noteOwn(event.seq); }
    }
    return { rows: own, events: isAppended ? linked.map(({ event }) => event) : [] };
  }
}

/** One INSERT for several events, with the condition of the change. */
function insertEvents(events: Linked[], when: Statement | undefined): Statement {
  const condition = when ? ` WHERE EXISTS (${when.sql}) RETURNING seq` : "";
  const rows = events.map(() => "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)").join(", ");
  return {
    sql: `INSERT INTO audit
      (project_id, seq, at, session_id, action_id, type, actor, data, prev_hash, hash)
      SELECT * FROM (VALUES ${rows})${condition}`,
    args: [...events.flatMap(valuesOf), ...(when?.args ?? [])],
  };
}

function valuesOf({ event, actor, data }: Linked): Value[] {
  const { project_id, seq, at, session_id, action_id, type, prev_hash, hash } = event;
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
  const message = `Cannot save the change: ${columns} exists already; read it again`;
  return new GateError("conflict", message, { cause: error });
}

function movedError(project_id: string, cause: unknown): GateError {
  const message =
    `Cannot save to the ledger of "${project_id}": other processes keep writing to it; ` +
    "try again";
  return new GateError("unavailable", message, { cause });
}
