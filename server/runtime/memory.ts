import { setTimeout } from "node:timers";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

type Collect = () => void;

let collect: Collect | null = null;

/**
 * Gives back the memory of what is no longer used. For whoever hands large pieces through: the
 * runtimes wait until far more than a hundred megabytes of them have piled up.
 */
export function releaseMemory(): void {
  collect ??= findCollector();
  collect();
}

/** After fewer requests there is little to give back. */
const MANY = 50;

/** So long nothing may have been asked: an agent that thinks will go on before that. */
const QUIET_MS = 20_000;

/** What a pause is told by. */
export interface IdleOptions {
  release: () => void;
  now: () => number;
  /** Calls back after so long; keeps no process running. */
  later: (call: () => void, ms: number) => void;
}

const REAL: IdleOptions = {
  release: shrink,
  now: () => performance.now(),
  later: (call, ms) => void setTimeout(call, ms).unref(),
};

/** Gives memory back once there is a pause after many requests; the runtimes keep it for hours. */
export class IdleMemory {
  readonly #options: IdleOptions;
  #requests = 0;
  #last = 0;
  #isWatching = false;

  constructor(options: IdleOptions = REAL) {
    this.#options = options;
  }

  /** A request has come. */
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

/** Gives back compiled code too, which is half of what can be: the next few requests take longer. */
function shrink(): void {
  releaseMemory();
  const { Bun } = globalThis as { Bun?: { shrink?(): void } };
  Bun?.shrink?.();
}

function findCollector(): Collect {
  const { Bun } = globalThis as { Bun?: { gc(force: boolean): void } };
  if (Bun) return () => Bun.gc(true);
  try {
    setFlagsFromString("--expose-gc");
    const gc: unknown = runInNewContext("gc");
    if (typeof gc === "function") return () => gc();
  } catch {
    // A runtime that does not let us: it collects when it sees fit.
  }
  return () => {};
}
