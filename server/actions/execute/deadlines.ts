import { clearTimeout, setTimeout } from "node:timers";
import type { Environment } from "../../environment.ts";
import type { Deadlines } from "../context.ts";

/** One kind of work that becomes due at a time that the ledger knows. */
export interface DeadlineSource {
  /** Does everything that is due now. Doing it twice changes nothing. */
  run(): Promise<void>;
  /** The time of the next work; null if nothing waits. */
  next(): Promise<string | null>;
}

/** The longest pause between two checks, because the clock may jump. */
export const CHECK_MS = 30_000;

/**
 * The one queue of everything that waits for a time: one timer and one clock for all sources. The
 * ledger knows what is due, so a restart loses nothing.
 */
export class DeadlineQueue implements Deadlines {
  readonly #environment: Environment;
  readonly #sources: readonly DeadlineSource[];
  #timer: ReturnType<typeof setTimeout> | null = null;
  #at = Infinity;
  #closed = false;

  /** The sources run in this order. */
  constructor(environment: Environment, sources: readonly DeadlineSource[]) {
    this.#environment = environment;
    this.#sources = sources;
  }

  soon(): void {
    this.schedule(new Date(this.#environment.now() + CHECK_MS).toISOString());
  }

  schedule(at: string): void {
    const { now } = this.#environment;
    const time = Math.min(Date.parse(at), now() + CHECK_MS);
    if (this.#closed || time >= this.#at) return;
    if (this.#timer) clearTimeout(this.#timer);
    this.#at = time;
    const delay = Math.max(0, time - now());
    this.#timer = setTimeout(() => void this.#check(), delay + 1);
    this.#timer.unref();
  }

  /** Does what is due. A source that fails is logged and tried again later; the others go on. */
  async expireDue(): Promise<void> {
    for (const source of this.#sources) await this.#orSoon(() => source.run());
  }

  /** Does what is due, and schedules the next check if anything may become due. */
  async start(): Promise<void> {
    await this.expireDue();
    for (const source of this.#sources) {
      await this.#orSoon(async () => {
        const next = await source.next();
        if (next !== null) this.schedule(next);
      });
    }
  }

  close(): void {
    this.#closed = true;
    if (this.#timer) clearTimeout(this.#timer);
  }

  async #check(): Promise<void> {
    this.#at = Infinity;
    await this.start();
  }

  async #orSoon(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (this.#closed) return;
      this.#environment.log("error", "Cannot do what is due", { error: String(error) });
      this.soon();
    }
  }
}

/** Runs a step for each item in turn, also after one has failed. @throws the first error, at the end */
export async function doEach<T>(
  items: Iterable<T>,
  step: (item: T) => Promise<unknown>,
): Promise<void> {
  const errors: unknown[] = [];
  for (const item of items) {
    try {
      await step(item);
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}
