import { setTimeout } from "node:timers";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { dropUnusedPages } from "./unused_pages.ts";

type Collect = () => void;

let collect: Collect | null = null;

/**
 * Collects garbage now. Code that passes large buffers on calls it, because the runtimes let far more
 * than 100 MB of them pile up.
 */
export function releaseMemory(): void {
  collect ??= findCollector();
  collect();
}

/** After fewer requests there is little to free. */
const MANY = 50;

/** A pause this long means that no agent is at work: one that thinks is quicker. */
const QUIET_MS = 20_000;

/** The clock and the collector of an `IdleMemory`. */
export interface IdleOptions {
  release: () => void;
  now: () => number;
  /** Calls back after `ms`, without keeping the process alive. */
  later: (call: () => void, ms: number) => void;
}

const REAL: IdleOptions = {
  release: shrink,
  now: () => performance.now(),
  later: (call, ms) => void setTimeout(call, ms).unref(),
};

/** Frees memory in a pause after many requests; the runtimes would keep it for hours. */
export class IdleMemory {
  readonly #options: IdleOptions;
  /** The start counts as many requests: a tenth of its memory is free after it. */
  #requests = MANY;
  #last = 0;
  #isWatching = false;

  constructor(options: IdleOptions = REAL) {
    this.#options = options;
  }

  /** Notes a request. */
  note(): void {
    this.#last = this.#options.now();
    if (++this.#requests < MANY || this.#isWatching) return;
    this.#isWatching = true;
    this.#look(QUIET_MS);
  }

  #look(in_ms: number): void {
    const { release, now, later } = this.#options;
    later(() => {
      const left = this.#last + QUIET_MS - now();
      if (left > 0) return this.#look(left);
      this.#isWatching = false;
      this.#requests = 0;
      release();
    }, in_ms);
  }
}

/** Frees compiled code too, half of the total; the next requests then take longer. */
function shrink(): void {
  releaseMemory();
  const { Bun } = globalThis as { Bun?: { shrink?(): void } };
  Bun?.shrink?.();
  // Without it the kernel takes these pages back when it needs memory.
  dropUnusedPages().catch(() => {});
}

function findCollector(): Collect {
  const { Bun } = globalThis as { Bun?: { gc(force: boolean): void } };
  if (Bun) return () => Bun.gc(true);
  try {
    setFlagsFromString("--expose-gc");
    const gc: unknown = runInNewContext("gc");
    if (typeof gc === "function") return () => gc();
  } catch {
    // This runtime has no such flag and collects by its own schedule.
  }
  return () => {};
}
