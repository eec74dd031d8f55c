import { setTimeout as sleep } from "node:timers/promises";
import { sendRequest } from "./http.ts";
import type { Target } from "./target.ts";
import { CUT_OFF, REFUSED, RESET } from "./transport_error.ts";

/** How long a supervisor may take to restart a target that accepts no connections. */
export const RESTART_MS = 5_000;
const PAUSE_MS = 100;
/** The shortest time-out, so that a target which works on one request at a time is not given up. */
const LEAST_MS = 2_000;
/** A target that leaves this many requests in a row unanswered is given up. */
const SILENT = 2;

/** Finds out whether a target still answers anything at all. */
export class Pulse {
  readonly #options: { target: Target; timeout_ms: number; insecure: boolean };
  #silent = 0;
  #asking: Promise<boolean> | null = null;

  constructor(options: { target: Target; timeout_ms: number; insecure: boolean }) {
    this.#options = options;
  }

  /**
   * True if `GET /` is answered, whatever the status. Waits `patience` milliseconds for a target that
   * closes its connections. A target that takes requests without an answer is given up for good.
   */
  answers(patience: number = RESTART_MS): Promise<boolean> {
    this.#asking ??= this.#ask(patience).finally(() => this.#asking = null);
    return this.#asking;
  }

  async #ask(patience: number): Promise<boolean> {
    const { target, insecure } = this.#options;
    const timeout_ms = Math.max(this.#options.timeout_ms, LEAST_MS);
    const end = performance.now() + patience;
    while (this.#silent < SILENT) {
      const get = { method: "GET", path: "/", headers: {} };
      const { status, error } = await sendRequest(target, get, { timeout_ms, insecure });
      if (status !== null) {
        this.#silent = 0;
        return true;
      }
      const isClosed = error === REFUSED || error === RESET || error === CUT_OFF;
      if (!isClosed) this.#silent++;
      else if (performance.now() >= end) return false;
      else await sleep(PAUSE_MS);
    }
    return false;
  }
}
