const LEAST_MS = 200;
const MOST_MS = 2_000;

/**
 * Runs a read at most once at a time, with a rest after each. Requests during the rest cause one more
 * run in all, and each such run doubles the rest, so that a thousand events cost a handful of reads.
 */
export class Pace {
  readonly #read: () => Promise<unknown>;
  readonly #first_ms: number;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #state: "idle" | "busy" | "ended" = "idle";
  #again = false;
  #rest_ms = LEAST_MS;

  /** The first read after a quiet time starts `first_ms` after the request. */
  constructor(read: () => Promise<unknown>, first_ms = 0) {
    this.#read = read;
    this.#first_ms = first_ms;
  }

  /** Requests a read. */
  ask(): void {
    if (this.#state === "busy") this.#again = true;
    if (this.#state !== "idle") return;
    this.#state = "busy";
    if (this.#first_ms === 0) void this.#run();
    else this.#timer = setTimeout(() => void this.#run(), this.#first_ms);
  }

  /** Ends a planned read; no later request causes one. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#state = "ended";
  }

  async #run(): Promise<void> {
    // The answer covers every event before the read began.
    this.#again = false;
    await this.#read().catch(() => {});
    if (this.#state === "busy") this.#timer = setTimeout(() => this.#rested(), this.#rest_ms);
  }

  #rested(): void {
    if (this.#again) {
      this.#rest_ms = Math.min(MOST_MS, this.#rest_ms * 2);
      void this.#run();
    } else {
      this.#rest_ms = LEAST_MS;
      this.#state = "idle";
    }
  }
}
