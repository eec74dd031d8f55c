import { type Client, type ClientOptions, createClient, ProblemError, unwrap } from "../client.ts";

/** Finds the daemon, starting it if none runs. @throws when it cannot: the gate fails closed */
export type Connect = () => Promise<ClientOptions>;

type Answer<T> = Parameters<typeof unwrap<T>>[0];

export interface CallOptions<T> {
  project?: string;
  /** Looks for what a call did whose answer was lost, before it is sent again. */
  recover?: (client: Client) => Promise<T | null>;
  /** Until when (milliseconds since 1970) a lost daemon is looked for again. */
  until: number;
  signal?: AbortSignal;
}

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;

/** The daemon as one MCP connection sees it: found again whenever it was restarted. */
export class DaemonLink {
  readonly #connect: Connect;
  readonly #now: () => number;
  #found: Promise<ClientOptions> | null = null;

  constructor(connect: Connect, now: () => number) {
    this.#connect = connect;
    this.#now = now;
  }

  /** The answer of one call, asked again while the daemon is away. @throws ProblemError, LostError */
  async call<T>(use: (client: Client) => Answer<T>, options: CallOptions<T>): Promise<T> {
    let sent = false;
    let renewed: boolean = false;
    for (let pause = FIRST_PAUSE_MS;; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      try {
        const client = createClient({ ...await this.#find(), project: options.project });
        const done = sent ? await options.recover?.(client) : null;
        if (done) return done;
        sent = true;
        return await unwrap(use(client));
      } catch (error) {
        const renews: boolean = isUnauthorized(error) && !renewed;
        if (!(renews || isAway(error)) || options.signal?.aborted) throw error;
        renewed ||= renews;
        if (this.#now() + pause > options.until) throw sent ? new LostError(error) : error;
        this.#found = null;
      }
      await rest(pause, options.signal);
    }
  }

  async #find(): Promise<ClientOptions> {
    this.#found ??= this.#connect();
    try {
      return await this.#found;
    } catch (error) {
      this.#found = null;
      throw error;
    }
  }
}

/** The daemon went away after it had been asked: nobody here knows what it has done. */
export class LostError extends Error {
  constructor(cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause);
    super(`The daemon went away before it answered: ${why}`, { cause });
    this.name = "LostError";
  }
}

/** A credential may have been replaced while we held the old one. */
function isUnauthorized(error: unknown): boolean {
  return error instanceof ProblemError && error.problem.code === "unauthorized";
}

/** Whether the daemon gave no answer of its own, or said that it will be back. */
export function isAway(error: unknown): boolean {
  return !(error instanceof ProblemError) || error.problem.code === "unavailable";
}

/** Waits, but no longer than `signal` allows; never throws. */
export function rest(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    if (signal?.aborted) done();
    else signal?.addEventListener("abort", done);
  });
}
