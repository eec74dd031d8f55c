import { forgedHeaders, type Forgery } from "./forge.ts";
import { mergeHeaders, withoutCredentials } from "../execute/request.ts";
import { type Race, raceRequests } from "../execute/race/race.ts";
import type { Strategy } from "../execute/race/strategy.ts";
import { type HttpExchange, type HttpRequest, isSuccess, sendRequest } from "../execute/http.ts";
import { isLoopback, type Target } from "../execute/target.ts";

/** One request that the tool sent for a scenario. No other evidence counts. */
export interface LedgerEntry {
  /** `r1`, `r2` … in the order of sending. */
  id: string;
  method: string;
  path: string;
  /** The identity whose credentials it carried. */
  as: string | null;
  status: number | null;
  /** The statuses of a volley, instead of one status. */
  statuses: (number | null)[] | null;
  /** The simultaneity of a volley. */
  race?: Pick<Race, "strategy" | "spread_us" | "overlap" | "in_flight" | "notes"> & {
    /** How many different answers the winners got. */
    winning_answers: number;
  };
  body: string;
  error: string | null;
  duration_ms: number;
}

export interface LedgerOptions {
  target: Target;
  timeout_ms: number;
  insecure: boolean;
  race_strategy: Strategy;
  headers: Record<string, string>;
  /** The headers of each identity (`--as alice=Authorization: …`). */
  identities: Map<string, Record<string, string>>;
  fill: (text: string) => string;
  /** Removes secrets from what a player, a report or a model sees. */
  redact: (text: string) => string;
  /** Requests that change data may be sent. */
  may_change: boolean;
  max_requests: number;
}

/** The ledger did not send a request: the budget or the rules of the run forbid it. */
export class NotSentError extends Error {}

const BODY_BYTES = 4_096;

/** Sends requests to the target and records each of them. */
export class RequestLedger {
  readonly entries: LedgerEntry[] = [];
  readonly #options: LedgerOptions;

  constructor(options: LedgerOptions) {
    this.#options = options;
  }

  /** True for a target on this machine. */
  get isLocal(): boolean {
    return isLoopback(this.#options.target);
  }

  /** Sends one request. @throws NotSentError outside the budget or the rules */
  async send(
    request: HttpRequest,
    as: string | null = null,
    forgery?: Forgery,
  ): Promise<{ entry: LedgerEntry; exchange: HttpExchange }> {
    const prepared = this.#prepare(request, as);
    const headers = forgery === undefined
      ? prepared.headers
      : forgedHeaders(prepared.headers, forgery);
    if (headers === null) {
      throw new NotSentError("the login is no JSON Web Token that can be forged so");
    }
    const ready = { ...prepared, headers };
    const exchange = await sendRequest(this.#options.target, ready, this.#options);
    const { status, body, error, duration_ms } = exchange;
    const entry = this.#record(ready, as, { status, statuses: null, body, error, duration_ms });
    return { entry, exchange };
  }

  /** Sends `count` identical requests at once. @throws NotSentError */
  async race(request: HttpRequest, count: number, as: string | null = null): Promise<LedgerEntry> {
    if (!(count >= 2 && count <= 50)) throw new NotSentError("a race takes 2 to 50 requests");
    const ready = this.#prepare(request, as);
    const started = performance.now();
    const race = await raceRequests(this.#options.target, ready, count, this.#options);
    const { strategy, spread_us, overlap, in_flight, notes } = race;
    return this.#record(ready, as, {
      race: {
        strategy,
        spread_us,
        overlap,
        in_flight,
        notes,
        winning_answers: winningAnswers(race),
      },
      status: null,
      statuses: race.shots.map(({ status }) => status),
      body: "",
      error: race.error ?? race.shots.find(({ error }) => error)?.error ?? null,
      duration_ms: Math.round(performance.now() - started),
    });
  }

  #prepare(request: HttpRequest, as: string | null): HttpRequest {
    const { max_requests, may_change, fill } = this.#options;
    if (this.entries.length >= max_requests) {
      throw new NotSentError("the budget of requests is used up");
    }
    const changes = !/^(GET|HEAD|OPTIONS|TRACE)$/i.test(request.method);
    if (changes && !may_change) {
      throw new NotSentError("changing requests need --allow-destructive");
    }
    // Nothing that a model or a target says may lead to another host.
    if (!/^\//.test(request.path)) throw new NotSentError('the path must begin with "/"');
    const all = Object.entries(mergeHeaders(this.#headersOf(as), request.headers));
    return {
      method: request.method.toUpperCase(),
      path: fill(request.path),
      headers: Object.fromEntries(all.map(([name, value]) => [name, fill(String(value))])),
      body: request.body === undefined ? undefined : fill(request.body),
    };
  }

  /** Without a name the first identity sends; "nobody" is never logged in. */
  #headersOf(as: string | null): Record<string, string> {
    const { headers, identities } = this.#options;
    if (as === "nobody") return withoutCredentials(headers);
    const identity = as === null ? identities.values().next().value ?? {} : identities.get(as);
    if (!identity) throw new NotSentError(`there is no identity "${as}" (--as)`);
    return as === null ? mergeHeaders(identity, headers) : mergeHeaders(headers, identity);
  }

  #record(
    { method, path }: HttpRequest,
    as: string | null,
    seen: Omit<LedgerEntry, "id" | "method" | "path" | "as">,
  ): LedgerEntry {
    const id = `r${this.entries.length + 1}`;
    const { redact } = this.#options;
    const body = redact(seen.body).slice(0, BODY_BYTES);
    const entry = { id, method, path: redact(path), as, ...seen, body };
    this.entries.push(entry);
    return entry;
  }
}

function winningAnswers({ shots }: Race): number {
  const winners = shots.filter(({ status }) => isSuccess(status));
  return new Set(winners.map(({ fingerprint }) => fingerprint)).size;
}
