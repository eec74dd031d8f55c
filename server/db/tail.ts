import type { AuditEvent } from "../evidence/schema.ts";
import { toEvent } from "./chain.ts";
import type { LedgerDatabase } from "./database.ts";
import { noteSeen } from "./machines.ts";

/** How often it looks whether a request is due; the look itself costs nothing. */
const TICK_MS = 100;

/** The time between two requests while somebody waits, and else. */
const WAITING_MS = 200;
const SHARED_MS = 1_000;
/** Also the time after which a machine learns that another one has joined. */
const SEEN_MS = 5_000;

/** Events of one request. */
const PAGE = 200;

export interface TailOptions {
  database: Pick<LedgerDatabase, "all" | "batch">;
  project_id: string;
  machine_id: string;
  /** The number of the newest event that was delivered before. */
  after: number;
  /** Whether somebody waits for an event. */
  isWaiting: () => boolean;
  /** Takes the requests that other machines pass to this one. */
  takeRequests: () => Promise<void>;
  /** Receives all events in the order of the chain; `others` are those of other machines. */
  deliver: (events: readonly AuditEvent[], others: readonly AuditEvent[]) => Promise<void>;
}

/**
 * Follows the chain of a ledger that several machines share: it delivers the events of all machines in
 * their order. Its own commits come at once, and those of the others within a second.
 */
export class Tail {
  readonly #options: TailOptions;
  /** The number of the newest delivered event. */
  #seq: number;
  /** The events of this process that are not delivered yet. */
  readonly #own = new Set<number>();
  #turn: Promise<void> = Promise.resolve();
  #timer: ReturnType<typeof setInterval>;
  #isAsking = false;
  #asked_at: number;
  #seen_at = -Infinity;
  #hasOthers = true;
  #isClosed = false;

  constructor(options: TailOptions) {
    this.#options = options;
    this.#seq = options.after;
    this.#asked_at = performance.now();
    this.#timer = setInterval(() => void this.#tick(), TICK_MS);
    this.#timer.unref();
  }

  /** Notes an event that this process commits. Call it before anything else can read the event. */
  noteOwn(seq: number): void {
    this.#own.add(seq);
  }

  /** Delivers the events of a commit, after all events before them. */
  follow(events: readonly AuditEvent[]): Promise<void> {
    const [first] = events;
    if (!first) return Promise.resolve();
    return this.#inTurn(async () => {
      if (first.seq > this.#seq + 1) await this.#read();
      await this.#deliver(events.filter(({ seq }) => seq > this.#seq));
    });
  }

  /** Delivers what the other machines have committed until now. */
  catchUp(): Promise<void> {
    return this.#inTurn(() => this.#read());
  }

  /** Stops, after what is under way. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#turn;
  }

  async #tick(): Promise<void> {
    const now = performance.now();
    const pause = this.#options.isWaiting() ? WAITING_MS : this.#hasOthers ? SHARED_MS : SEEN_MS;
    if (this.#isAsking || this.#isClosed || now - this.#asked_at < pause) return;
    this.#isAsking = true;
    try {
      await this.catchUp();
      if (this.#hasOthers) await this.#options.takeRequests();
      if (now - this.#seen_at >= SEEN_MS) await this.#tellSeen(now);
    } catch {
      // A server that does not answer closes the ledger, which says so.
    } finally {
      this.#asked_at = performance.now();
      this.#isAsking = false;
    }
  }

  async #tellSeen(now: number): Promise<void> {
    const { database, machine_id } = this.#options;
    const [, rows] = await database.batch([noteSeen(machine_id, this.#seq), {
      sql: "SELECT count(*) AS machines FROM machines WHERE left_at IS NULL",
      args: [],
    }]);
    this.#hasOthers = Number(rows?.[0]?.machines) > 1;
    this.#seen_at = now;
  }

  async #read(): Promise<void> {
    const { database, project_id } = this.#options;
    for (;;) {
      const rows = await database.all(
        "SELECT * FROM audit WHERE project_id = ? AND seq > ? ORDER BY seq LIMIT ?",
        [project_id, this.#seq, PAGE],
      );
      await this.#deliver(rows.map(toEvent));
      if (rows.length < PAGE) return;
    }
  }

  async #deliver(events: readonly AuditEvent[]): Promise<void> {
    const last = events.at(-1);
    if (!last) return;
    const others = events.filter(({ seq }) => !this.#own.has(seq));
    if (others.length > 0) this.#hasOthers = true;
    // Events that cannot be delivered now come again with the next request.
    await this.#options.deliver(events, others);
    this.#seq = last.seq;
    for (const { seq } of events) this.#own.delete(seq);
  }

  #inTurn(task: () => Promise<void>): Promise<void> {
    const run = this.#turn.then(task);
    this.#turn = run.catch(() => {});
    return run;
  }
}
