import { setTimeout } from "node:timers/promises";
import { type Client, type ClientOptions, createClient, ProblemError, unwrap } from "../client.ts";

/** Finds the daemon, or starts it. @throws Error when it cannot */
export type Connect = () => Promise<ClientOptions>;

type Answer<T> = Parameters<typeof unwrap<T>>[0];

export interface CallOptions<T> {
  project?: string;
  /** The secret of the session that the call is about. */
  session?: string;
  /** Looks for the result of a call whose answer was lost, before the call is sent again. */
  recover?: (client: Client) => Promise<T | null>;
  /** The time (milliseconds since 1970) until which a lost daemon is tried again. */
  until: number;
  signal?: AbortSignal;
}

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;

/** One MCP connection's access to the daemon; it reconnects when the daemon restarts. */
export class DaemonLink {
  readonly #connect: Connect;
  readonly #now: () => number;
  #found: Promise<ClientOptions> | null = null;
  /** The last client: most calls are about the same project and session. */
  #last: { found: ClientOptions; project?: string; session?: string; client: Client } | null = null;

  constructor(connect: Connect, now: () => number) {
    this.#connect = connect;
    this.#now = now;
  }

  /** The answer of one call, which is retried while the daemon is away. @throws ProblemError, LostError */
  async call<T>(use: (client: Client) => Answer<T>, options: CallOptions<T>): Promise<T> {
    let sent = false;
    let renewed: boolean = false;
    for (let pause = FIRST_PAUSE_MS;; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      try {
        const client = this.#clientOf(await this.#find(), options);
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

  #clientOf(
    found: ClientOptions,
    { project, session }: Pick<CallOptions<unknown>, "project" | "session">,
  ): Client {
    const last = this.#last;
    if (last?.found === found && last.project === project && last.session === session) {
      return last.client;
    }
    const client = createClient({ ...found, project, session });
    this.#last = { found, project, session, client };
    return client;
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

/** The daemon ended after it received a call, so the outcome is unknown. */
export class LostError extends Error {
  constructor(cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause);
    super(`The daemon ended before it answered: ${why}`, { cause });
    this.name = "LostError";
  }
}

/** The credential may have been replaced since it was read. */
function isUnauthorized(error: unknown): boolean {
  return error instanceof ProblemError && error.problem.code === "unauthorized";
}

/** Whether the daemon gave no answer, or answered that it is unavailable for now. */
export function isAway(error: unknown): boolean {
  return !(error instanceof ProblemError) || error.problem.code === "unavailable";
}

/** Resolves after `ms` or when `signal` is aborted; never throws. */
export async function rest(ms: number, signal?: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => {});
}
