import { clearTimeout, setTimeout } from "node:timers";
import { GateError } from "../../errors.ts";
import type { Bus } from "../../events/bus.ts";

/** Further waiting calls are refused, so that they cannot exhaust the memory. */
const MAX_WAITERS = 2_000;

/** Calls that wait for their action. The events of a commit wake them. */
export class Waiters {
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #unsubscribe: () => void;
  #count = 0;
  #closed = false;

  constructor(bus: Bus, project_id: string) {
    this.#unsubscribe = bus.subscribe((event) => {
      if (event.project_id === project_id && event.id !== null) this.#wake(event.id);
    });
  }

  /** Whether a call waits. */
  get isWaiting(): boolean {
    return this.#count > 0;
  }

  /**
   * Calls `look` now and after each event of the action, until it finds something, the time is over
   * or `gone` is aborted. Returns the value of the last call.
   */
  async until<T>(
    id: string,
    timeout_ms: number,
    look: () => Promise<{ found: boolean; value: T }>,
    gone?: AbortSignal,
  ): Promise<T> {
    const deadline = performance.now() + timeout_ms;
    for (;;) {
      const event = this.#listen(id);
      gone?.addEventListener("abort", event.wake);
      try {
        const { found, value } = await look();
        const left = deadline - performance.now();
        if (found || left <= 0 || this.#closed || gone?.aborted) return value;
        await event.within(left);
      } finally {
        gone?.removeEventListener("abort", event.wake);
        event.cancel();
      }
    }
  }

  /** Ends all waits. */
  close(): void {
    this.#closed = true;
    this.#unsubscribe();
    for (const id of [...this.#waiting.keys()]) this.#wake(id);
  }

  /** Subscribes before the look, so that no event in between is missed. */
  #listen(id: string) {
    if (this.#count >= MAX_WAITERS) {
      throw new GateError("unavailable", "Cannot wait: too many calls are waiting already");
    }
    let wake = () => {};
    const woken = new Promise<void>((resolve) => wake = resolve);
    const waiting = this.#waiting.get(id) ?? new Set();
    this.#waiting.set(id, waiting.add(wake));
    this.#count++;
    return {
      wake,
      within: async (ms: number) => {
        const timer = setTimeout(wake, ms);
        await woken;
        clearTimeout(timer);
      },
      cancel: () => {
        this.#count--;
        waiting.delete(wake);
        if (waiting.size === 0 && this.#waiting.get(id) === waiting) this.#waiting.delete(id);
      },
    };
  }

  #wake(id: string): void {
    for (const wake of this.#waiting.get(id) ?? []) wake();
  }
}
