import { listEvents as listAuditEvents } from "../audit/store.ts";
import type { AuditEvent } from "../evidence/schema.ts";
import { toStreamEvents } from "./topics.ts";
import type { Environment } from "../environment.ts";
import type { Database } from "../db/database.ts";
import type { Ledger, Statement } from "../db/ledger.ts";
import { GateError } from "../errors.ts";
import type { Head } from "../evidence/chain.ts";
import type { Bus } from "./bus.ts";
import type { PublishedEvent } from "./schema.ts";
import {
  findBounds,
  findHead,
  findOldestKept,
  forgetHead,
  insertEvents,
  listEvents,
  noteAction,
  prefixOf,
  pruneBelow,
  rememberHead,
  touchProject,
} from "./store.ts";

/**
 * After a start, cursors begin this far above the newest kept one. A reader whose last cursor was
 * lost in a crash thus still receives every later event.
 */
const GAP = 1_000_000;

/** The bounds of a stream. */
export interface StreamLimits {
  /** The number of kept events, from which a reader can resume. */
  keep: number;
  /** Deletes old events after this many new ones. */
  prune_every: number;
  /** The most events in memory while the registry cannot be written, for example on a full disk. */
  unsaved: number;
}

const LIMITS: StreamLimits = { keep: 50_000, prune_every: 1_000, unsaved: 10_000 };

const PAGE = 500;

/** After a power cut an older head is remembered, and the ledgers' later events come again. */
const NOT_SYNCED = { is_synced: false };

/** Events within this many milliseconds share one write. After a crash they are published again. */
const GATHER_MS = 100;

/**
 * The machine-wide order of events. Assigns each event its cursor, publishes it on the bus at once
 * and keeps it for readers that resume with `Last-Event-ID`.
 */
export class Stream {
  readonly #registry: Database;
  readonly #bus: Bus;
  readonly #log: Environment["log"];
  #unsaved: PublishedEvent[] = [];
  /** The time of the last event, by project. */
  readonly #active = new Map<string, string>();
  /** The newest durable event, by project. */
  readonly #heads = new Map<string, Head>();
  readonly #disputed = new Set<string>();
  /** Id prefixes of new actions, with their project. */
  readonly #actions = new Map<string, { project_id: string; prefix: string }>();
  #saving: Promise<void> | null = null;
  #hurry: () => void = () => {};
  #closing = false;
  #head: number;
  #floor: number;
  readonly #limits: StreamLimits;
  #untilPrune: number;

  private constructor(
    registry: Database,
    bus: Bus,
    log: Environment["log"],
    bounds: { newest: number; oldest: number | null },
    limits: StreamLimits,
  ) {
    this.#limits = limits;
    this.#untilPrune = limits.prune_every;
    this.#registry = registry;
    this.#bus = bus;
    this.#log = log;
    this.#head = bounds.newest === 0 ? 0 : bounds.newest + GAP;
    this.#floor = bounds.oldest === null ? bounds.newest : bounds.oldest - 1;
  }

  static async open(
    registry: Database,
    bus: Bus,
    log: Environment["log"],
    limits: StreamLimits = LIMITS,
  ): Promise<Stream> {
    return new Stream(registry, bus, log, await findBounds(registry), limits);
  }

  /** The newest cursor, 0 before the first event. */
  get head(): number {
    return this.#head;
  }

  /** Publishes committed audit events: one stream event for each topic of an audit event. */
  append(events: readonly AuditEvent[]): void {
    if (events.length === 0) return;
    const published = events.flatMap(toStreamEvents)
      .map((event) => ({ ...event, cursor: ++this.#head }));
    for (const { project_id, at, type, action_id } of events) {
      this.#active.set(project_id, at);
      if (type !== "action.submitted" || action_id === null) continue;
      const prefix = prefixOf(action_id);
      this.#actions.set(`${prefix} ${project_id}`, { project_id, prefix });
    }
    this.#unsaved.push(...published);
    this.#boundUnsaved();
    this.#saving ??= this.#save();
    this.#bus.publish(published);
  }

  /** Records the newest of these durable events outside of its ledger. */
  remember(events: readonly AuditEvent[]): void {
    const last = events.at(-1);
    if (!last) return;
    this.#heads.set(last.project_id, { seq: last.seq, hash: last.hash });
    this.#saving ??= this.#save();
  }

  /**
   * At most `limit` events after `cursor`, oldest first. Null when some of them are no longer kept
   * or the cursor is unknown: the reader must fetch everything again (`event: resync`).
   */
  async since(cursor: number, limit: number): Promise<PublishedEvent[] | null> {
    if (cursor < this.#floor || cursor > this.#head) return null;
    // Copied before the read, so that an event saved during the read is in at least one list.
    const waiting = this.#unsaved.filter((event) => event.cursor > cursor);
    const kept = await listEvents(this.#registry, cursor, limit);
    const last = kept.at(-1)?.cursor ?? cursor;
    return [...kept, ...waiting.filter((event) => event.cursor > last)].slice(0, limit);
  }

  /** The time of the last event of each project with unsaved events. */
  unsavedActivity(): Map<string, string> {
    return new Map(this.#active);
  }

  /** The head of a chain as recorded outside its ledger. */
  remembered(project_id: string): Promise<Head | null> {
    return findHead(this.#registry, project_id);
  }

  /**
   * Publishes the events that a crash left unpublished. Returns a problem when the chain lacks the
   * recorded head; the recorded head then stays until a person has looked.
   */
  async reconcile(ledger: Ledger): Promise<string | null> {
    const remembered = await this.remembered(ledger.project_id);
    if (!remembered) return null;
    try {
      return await this.#publishSince(remembered, ledger);
    } catch (error) {
      if (!(error instanceof GateError)) throw error;
      this.#disputed.add(ledger.project_id);
      return error.message;
    }
  }

  async #publishSince(remembered: Head, ledger: Ledger): Promise<string | null> {
    const [known] = await listAuditEvents(ledger, remembered.seq - 1, 1);
    if (known?.seq !== remembered.seq || known.hash !== remembered.hash) {
      this.#disputed.add(ledger.project_id);
      return `the audit chain of "${ledger.project_id}" no longer holds event ${remembered.seq}, ` +
        "which had been written; run: gate audit verify";
    }
    for (let seq = remembered.seq;;) {
      const events = await listAuditEvents(ledger, seq, PAGE);
      this.append(events);
      this.remember(events);
      const last = events.at(-1);
      if (!last || events.length < PAGE) return null;
      seq = last.seq;
    }
  }

  /** Deletes the recorded head, for a chain that begins anew or takes the place of another. */
  async forget(project_id: string): Promise<void> {
    this.#heads.delete(project_id);
    this.#disputed.delete(project_id);
    await this.#registry.batch([forgetHead(project_id)]);
  }

  /** Waits until every published event is saved or the registry rejects the write. */
  async close(): Promise<void> {
    this.#closing = true;
    this.#hurry();
    while (this.#saving) await this.#saving;
  }

  async #save(): Promise<void> {
    do {
      await this.#gather();
      const events = this.#unsaved.slice(0, PAGE);
      const active = [...this.#active];
      const heads = [...this.#heads];
      const actions = [...this.#actions];
      try {
        await this.#registry.batch([
          ...insertEvents(events),
          ...active.map(([project_id, at]) => touchProject(project_id, at)),
          ...this.#noteHeads(heads),
          ...actions.map(([, { project_id, prefix }]) => noteAction(project_id, prefix)),
        ], NOT_SYNCED);
        for (const [key] of actions) this.#actions.delete(key);
        const saved = new Set(events);
        this.#unsaved = this.#unsaved.filter((event) => !saved.has(event));
        forget(this.#active, active);
        forget(this.#heads, heads);
        await this.#prune(events.length);
      } catch (error) {
        this.#log("warn", "Cannot save events for readers that resume", {
          error: String(error),
        });
        break;
      }
    } while (this.#unsaved.length > 0 || this.#active.size > 0 || this.#heads.size > 0);
    this.#saving = null;
  }

  #gather(): Promise<void> {
    return new Promise((resolve) => {
      this.#hurry = resolve;
      setTimeout(resolve, this.#closing ? 0 : GATHER_MS);
    });
  }

  #noteHeads(heads: [string, Head][]): Statement[] {
    return heads.filter(([project_id]) => !this.#disputed.has(project_id))
      .map(([project_id, head]) => rememberHead(project_id, head));
  }

  async #prune(saved: number): Promise<void> {
    this.#untilPrune -= saved;
    if (this.#untilPrune > 0) return;
    this.#untilPrune = this.#limits.prune_every;
    const oldest = await findOldestKept(this.#registry, this.#limits.keep);
    if (oldest === null) return;
    this.#floor = Math.max(this.#floor, oldest - 1);
    await this.#registry.batch([pruneBelow(oldest)]);
  }

  #boundUnsaved(): void {
    const tooMany = this.#unsaved.length - this.#limits.unsaved;
    if (tooMany <= 0) return;
    const dropped = this.#unsaved.splice(0, tooMany).at(-1);
    this.#floor = Math.max(this.#floor, dropped?.cursor ?? 0);
  }
}

/** Deletes what was saved, unless a newer value has replaced it. */
function forget<T>(map: Map<string, T>, saved: [string, T][]): void {
  for (const [key, value] of saved) if (map.get(key) === value) map.delete(key);
}
