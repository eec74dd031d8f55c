import { setImmediate as pause } from "node:timers/promises";
import { GateError } from "../errors.ts";
import type { Write } from "./database.ts";
import { ALL_PROJECTIONS, projectionsOf, projectSome } from "./projections.ts";

/** The changes of this many milliseconds share one commit, unless they are too many for one. */
const GATHER_MS = 2_000;
/** Noted commits. An action has two, and one step projects a hundred actions. */
const MOST_GATHERED = 200;

/** The parts of a ledger that a projector uses. */
export interface ProjectorOptions {
  /** Runs a task alone in the write queue. */
  exclusive: <T>(task: (write: Write) => Promise<T>) => Promise<T>;
  /** Further work for a pause, which no read waits for. Returns whether more is left. */
  idle?: () => Promise<boolean>;
}

interface Waiting {
  needed: readonly string[];
  read: () => void;
  fail: (error: unknown) => void;
}

/**
 * Fills derived tables behind the answers: a caller does not wait for them, and many changes share
 * their pages. A number in the ledger says how far each projection is, in the same commit as its rows.
 * A crash or a power cut thus takes both or none. A query of a derived table waits for its projection,
 * so it misses nothing.
 */
export class Projector {
  readonly #options: ProjectorOptions;
  /** Counts the commits that it must follow; an opened ledger may have older ones. */
  #noted = 1;
  /** The noted commits since the last start without a read. */
  #gathered = 0;
  /** The commits that each projection has followed. */
  readonly #reached = new Map<string, number>();
  #waiting: Waiting[] = [];
  /** The projections that are current for the read whose queries begin now. */
  #current: readonly string[] | null = null;
  #timer: ReturnType<typeof globalThis.setTimeout> | null = null;
  #running: Promise<void> | null = null;
  #idling: Promise<void> | null = null;
  #closed = false;

  constructor(options: ProjectorOptions) {
    this.#options = options;
    this.#soon();
  }

  /** Hears of each commit before it begins, in its turn of the write queue. */
  note(): void {
    this.#noted++;
    if (++this.#gathered < MOST_GATHERED) this.#soon();
    else this.#start();
  }

  /**
   * Calls `read` when the derived tables that `sql` names have every commit of now, and before any
   * later commit. Its queries must begin in that call. @throws GateError `unavailable`
   */
  read<T>(sql: string, read: () => Promise<T>): Promise<T> {
    const needed = projectionsOf(sql);
    return this.#current === null
      ? this.#after(needed, read)
      : this.#within(this.#current, needed, read);
  }

  /** Returns when all projections have every commit of now. @throws GateError `unavailable` */
  catchUp(): Promise<void> {
    return this.#after(ALL_PROJECTIONS, () => Promise.resolve());
  }

  /** Stops. The next opening of the ledger continues. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#stopTimer();
    await this.#running;
    await this.#idling;
  }

  #after<T>(needed: readonly string[], read: () => Promise<T>): Promise<T> {
    if (this.#areCurrent(needed)) return this.#begin(needed, read);
    return new Promise((resolve, reject) => {
      this.#waiting.push({
        needed,
        read: () => this.#begin(needed, read).then(resolve, reject),
        fail: reject,
      });
      this.#running ??= this.#run().finally(() => this.#running = null);
    });
  }

  #begin<T>(needed: readonly string[], read: () => Promise<T>): Promise<T> {
    this.#current = needed;
    try {
      return read();
    } finally {
      this.#current = null;
    }
  }

  /** A query of a read that has waited. If it waited itself, a commit could come in between. */
  #within<T>(
    current: readonly string[],
    needed: readonly string[],
    read: () => Promise<T>,
  ): Promise<T> {
    const lacking = needed.filter((name) => !current.includes(name));
    if (lacking.length === 0) return read();
    return Promise.reject(
      new Error(`Cannot read: this read does not wait for ${lacking.join(", ")}`),
    );
  }

  #areCurrent(names: readonly string[]): boolean {
    return names.every((name) => this.#reached.get(name) === this.#noted);
  }

  #soon(): void {
    if (this.#closed) return;
    this.#timer ??= this.#startTimer();
  }

  #startTimer() {
    const timer = globalThis.setTimeout(() => this.#start(), GATHER_MS);
    timer.unref();
    return timer;
  }

  #stopTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #start(): void {
    this.#stopTimer();
    this.#gathered = 0;
    if (this.#closed) return;
    // A disk that fails here fails the next query or action too, which says so.
    this.catchUp().then(() => this.#idling ??= this.#idle()).catch(() => {});
  }

  async #idle(): Promise<void> {
    const { idle } = this.#options;
    try {
      while (!this.#closed && await idle?.()) await pause();
    } catch {
      // It is tried again after the next commit.
    } finally {
      this.#idling = null;
    }
  }

  async #run(): Promise<void> {
    try {
      while (this.#waiting.length > 0) {
        if (this.#closed) throw new GateError("unavailable", "Cannot read: the ledger is closed");
        await this.#options.exclusive((write) => this.#step(write));
        // Other writers and readers come in between.
        if (this.#waiting.length > 0) await pause();
      }
    } catch (error) {
      for (const { fail } of this.#waiting.splice(0)) fail(error);
    }
  }

  /** One commit. What a power cut takes of it is projected again, because the numbers go with it. */
  async #step(write: Write): Promise<void> {
    const wanted = new Set(this.#waiting.flatMap(({ needed }) => needed));
    const names = ALL_PROJECTIONS.filter((name) => wanted.has(name) && !this.#areCurrent([name]));
    const statements = projectSome(names);
    // Another machine's commits may be noted during the write.
    const noted = this.#noted;
    // On a full disk the rows stay in memory, so that people can still read.
    const rows = await write(statements).catch(() => write(statements, { is_held: true }));
    for (const [at, name] of names.entries()) {
      const isBehind = Number(rows[2 * at + 1]![0]?.is_behind ?? 0) === 1;
      if (!isBehind) this.#reached.set(name, noted);
    }
    const ready = this.#waiting.filter(({ needed }) => this.#areCurrent(needed));
    this.#waiting = this.#waiting.filter((waiting) => !ready.includes(waiting));
    for (const { read } of ready) read();
  }
}
