import { setTimeout as sleep } from "node:timers/promises";
import type { Execution, Scenario } from "../schema.ts";
import type { ExecuteOptions } from "./execute.ts";
import { type HttpExchange, type HttpRequest, isSuccess, sendRequest } from "./http.ts";
import { isReading } from "./lane.ts";
import { Pulse, RESTART_MS } from "./pulse.ts";
import { requestOf } from "./request.ts";
import { CUT_OFF, REFUSED, RESET } from "./transport_error.ts";

/** A plain GET that a healthy target answered with a 2xx. The canary repeats it. */
interface Probe {
  /** The scenario that it was learned from. */
  id: string;
  request: HttpRequest;
  /** The request carries the login of this run. */
  isLoggedIn: boolean;
  /** It was answered well a second time, so the route does not fail by itself. */
  isProven: boolean;
}

/** Changes the result of an earlier scenario. */
type Amend = (scenario_id: string, change: (execution: Execution) => Execution) => void;

const PAUSE_MS = 100;

/** The most probes that are remembered. */
const MOST_PROBES = 5;

/**
 * Repeats a request that was answered well after every scenario that may damage the target. When
 * the repetition fails, the canary names the scenario that did the damage.
 */
export class Canary {
  readonly #options: ExecuteOptions;
  /** The canary sends the first one; requests with a login come first. */
  #probes: Probe[] = [];
  #brokenBy: string | null = null;
  #loggedOutBy: string | null = null;
  /** The latest scenario that was sent and ended. */
  #lastSent: string | null = null;
  /** Scenarios in flight: reading requests run in parallel. */
  readonly #running = new Set<string>();
  readonly #amend: Amend;
  readonly #pulse: Pulse;
  /** The target has answered a request of this run. */
  #hasAnswered: boolean;
  /** It gives no HTTP answer any more. */
  #isDead = false;

  constructor(
    options: ExecuteOptions,
    { amend, hasAnswered }: { amend: Amend; hasAnswered: boolean },
  ) {
    this.#options = options;
    this.#amend = amend;
    this.#pulse = new Pulse(options);
    this.#hasAnswered = hasAnswered;
  }

  /**
   * Executes a scenario. Returns its result, with the blame added if it broke the target. Sends nothing
   * to a target that gives no HTTP answer any more.
   */
  async watch(scenario: Scenario, execute: () => Promise<Execution>): Promise<Execution> {
    if (scenario.exec?.mode === "cli") return await execute();
    if (this.#isDead && !await this.#lives()) return this.#unsent(scenario);
    if (!isReading(scenario)) await this.#proveFirstProbe();
    this.#running.add(scenario.scenario_id);
    try {
      let execution = await execute();
      if (isUnanswered(execution)) {
        if (!await this.#pulse.answers()) return this.#stopAt(scenario, execution);
        // Nothing was sent, or the scenario before may have stopped the target only now. If the
        // connection breaks a second time, this scenario is the cause.
        const isUnclear = wasRefused(execution) || wasCutOff(execution);
        if (!this.#brokenBy && isUnclear) execution = await execute();
      } else this.#hasAnswered ||= wasAnswered(execution);
      const judged = await this.#judge(scenario, execution);
      if (!wasRefused(execution)) this.#lastSent = scenario.scenario_id;
      return judged;
    } finally {
      this.#running.delete(scenario.scenario_id);
    }
  }

  /** Asks a dead target once more. A target that was started again is new. */
  async #lives(): Promise<boolean> {
    if (!await this.#pulse.answers(0)) return false;
    this.#isDead = false;
    this.#brokenBy = null;
    return true;
  }

  /** The result of a scenario after which the target gives no HTTP answer. */
  #stopAt(scenario: Scenario, execution: Execution): Execution {
    const isFirst = !this.#isDead;
    this.#isDead = true;
    if (!this.#hasAnswered) return silent(execution);
    const others = [...this.#running].filter((one) => one !== scenario.scenario_id).sort();
    if (!wasRefused(execution)) {
      return this.#blameForDamage(execution, "it gives no HTTP answer since");
    }
    // Nothing of this scenario was sent, so one before it or beside it is to blame.
    if (isFirst && this.#brokenBy === null) {
      if (others.length === 0 && this.#lastSent !== null) this.#blamePrevious(this.#lastSent);
      else this.#brokenBy = `one of ${others.join(", ")}`;
    }
    return this.#unsent(scenario);
  }

  #unsent({ scenario_id }: Scenario): Execution {
    const by = this.#brokenBy;
    const why = by === null
      ? "the target gives no HTTP answer"
      : `${by} had left the target broken`;
    return {
      scenario_id,
      status: "inconclusive",
      reason: `Not sent: ${why}`,
      evidence: { not_sent: true, ...(by === null ? {} : { after_damage_by: by }) },
      duration_ms: 0,
    };
  }

  /** Blames a scenario whose result is known already. */
  #blamePrevious(id: string): void {
    this.#brokenBy = id;
    this.#amend(id, (execution) => ({
      ...execution,
      status: "failed",
      reason: `${execution.reason}; and it left the target broken: it gives no HTTP answer since`,
      evidence: { ...execution.evidence, canary: { broken: true, suspects: [id] } },
    }));
  }

  async #judge(scenario: Scenario, execution: Execution): Promise<Execution> {
    if (execution.status === "skipped") return execution;
    if (this.#brokenBy) return afterDamage(execution, this.#brokenBy);
    if (this.#loggedOutBy) return afterLogout(scenario, execution, this.#loggedOutBy);
    this.#rememberProbe(scenario, execution);
    if (isReading(scenario) && execution.status === "passed") return execution;
    const probed = await this.#sendProbes();
    // Another worker may have found the damage meanwhile.
    if (this.#brokenBy) return afterDamage(execution, this.#brokenBy);
    if (!probed) return execution;
    if (probed.exchange.error === REFUSED && await this.#answersAgain(probed.probe)) {
      return this.#blameForRestart(execution);
    }
    if (fails(probed.exchange)) {
      const { method, path } = probed.probe.request;
      this.#isDead = probed.exchange.status === null && !await this.#pulse.answers(0);
      return this.#blameForDamage(execution, `${method} ${path} fails since`, { method, path });
    }
    const isRefused = probed.exchange.status === 401 || probed.exchange.status === 403;
    if (!probed.probe.isLoggedIn || !isRefused) return execution;
    this.#loggedOutBy = scenario.scenario_id;
    return { ...execution, reason: `${execution.reason}; it ended the login of this run` };
  }

  /** Learns only from a GET that passed with a complete 2xx answer. */
  #rememberProbe({ exec, ...scenario }: Scenario, execution: Execution): void {
    const { status, error = null } = responseOf(execution);
    const isWhole = execution.status === "passed" && error === null;
    // A GET that changes data would change it with every probe.
    if (exec?.method !== "GET" || scenario.changes || !isWhole || !isSuccess(status)) return;
    const isLoggedIn = exec.presumes?.includes("login") ?? false;
    const request = requestOf({ ...scenario, exec }, this.#options);
    const probe = { id: scenario.scenario_id, request, isLoggedIn, isProven: false };
    const [same, others] = partition(this.#probes, (one) => one.isLoggedIn === isLoggedIn);
    // Parallel reads end in any order, but every run must keep the same probes.
    const isParallel = isReading({ ...scenario, exec });
    const all = isParallel ? [...same, probe].sort(byId) : [...same, probe];
    const kept = all.slice(0, isLoggedIn ? 1 : MOST_PROBES);
    this.#probes = isLoggedIn ? [...kept, ...others] : [...others, ...kept];
  }

  /** Sends the first probe once before a risky scenario; forgets probes that fail by themselves. */
  async #proveFirstProbe(): Promise<void> {
    while (!this.#brokenBy && this.#probes[0]?.isProven === false) {
      const probe = this.#probes[0];
      const { status, error } = await this.#send(probe);
      probe.isProven = error === null && isSuccess(status);
      if (!probe.isProven) this.#forget(probe);
    }
  }

  /**
   * Returns the first answer that shows the state of the target; null without one. A failure shows
   * damage only if the probe was proven, a second probe fails too, or no connection is accepted.
   */
  async #sendProbes(): Promise<{ probe: Probe; exchange: HttpExchange } | null> {
    let failures = 0;
    while (this.#probes[0]) {
      const probe = this.#probes[0];
      let exchange = await this.#send(probe);
      // A failure that does not repeat is not lasting damage.
      if (fails(exchange)) exchange = await this.#send(probe);
      failures += fails(exchange) ? 1 : 0;
      const isDown = exchange.error === REFUSED;
      if (!fails(exchange) || probe.isProven || failures > 1 || isDown) {
        probe.isProven ||= !fails(exchange);
        return { probe, exchange };
      }
      this.#forget(probe);
    }
    return null;
  }

  #send({ request }: Probe): Promise<HttpExchange> {
    return sendRequest(this.#options.target, request, this.#options);
  }

  /** True when the probe succeeds within RESTART_MS, because a supervisor restarted the target. */
  async #answersAgain(probe: Probe): Promise<boolean> {
    const end = performance.now() + RESTART_MS;
    while (performance.now() < end) {
      await sleep(PAUSE_MS);
      if (!fails(await this.#send(probe))) return true;
    }
    return false;
  }

  #blameForRestart(execution: Execution): Execution {
    const suspects = [...this.#running].sort();
    const who = suspects.length === 1 ? "it" : `one of ${suspects.join(", ")}`;
    return {
      ...execution,
      status: "failed",
      reason: `${execution.reason}; and ${who} stopped the target, which was started again`,
      evidence: { ...execution.evidence, canary: { stopped: true, suspects } },
    };
  }

  #forget(probe: Probe): void {
    this.#probes = this.#probes.filter((one) => one !== probe);
  }

  /** `since` says what fails. */
  #blameForDamage(execution: Execution, since: string, probe: object = {}): Execution {
    const suspects = [...this.#running].sort();
    const alone = suspects.length === 1;
    this.#brokenBy ??= alone ? execution.scenario_id : `one of ${suspects.join(", ")}`;
    const what = alone ? "it" : `it, or what was sent beside it (${suspects.join(", ")}),`;
    return {
      ...execution,
      status: "failed",
      reason: `${execution.reason}; and ${what} left the target broken: ${since}`,
      evidence: { ...execution.evidence, canary: { ...probe, broken: true, suspects } },
    };
  }
}

function byId(one: Probe, other: Probe): number {
  return one.id < other.id ? -1 : 1;
}

function partition<T>(all: readonly T[], fits: (one: T) => boolean): [T[], T[]] {
  return [all.filter(fits), all.filter((one) => !fits(one))];
}

/** After the login ended, a refusal no longer says anything about the scenario. */
function afterLogout({ exec }: Scenario, execution: Execution, culprit: string): Execution {
  const isRefused = [401, 403].includes(responseOf(execution).status ?? 0);
  if (!isRefused || !exec?.presumes?.includes("login")) return execution;
  const reason = `${execution.reason}, but ${culprit} had ended the login of this run`;
  return { ...execution, status: "inconclusive", reason };
}

/** A failure on a broken target names the culprit. A refused connection shows nothing. */
function afterDamage(execution: Execution, culprit: string): Execution {
  const blamed = { evidence: { ...execution.evidence, after_damage_by: culprit } };
  if (execution.status !== "failed") return { ...execution, ...blamed };
  const reason = `${execution.reason}; ${culprit} had left the target broken`;
  const status = wasRefused(execution) ? "inconclusive" : "failed";
  return { ...execution, ...blamed, status, reason };
}

/** A failure on a target that has answered no request of this run. */
function silent(execution: Execution): Execution {
  return {
    ...execution,
    status: "failed",
    reason: `${execution.reason}; the target gives no HTTP answer`,
    evidence: { ...execution.evidence, silent: true },
  };
}

/** True where the last request of a scenario that did not pass got no answer. */
function isUnanswered(execution: Execution): boolean {
  const last = sentIn(execution).at(-1);
  return ["failed", "inconclusive"].includes(execution.status) && last !== undefined &&
    last.status === null && last.error !== null;
}

/** True if the target answered any request of the scenario. */
function wasAnswered(execution: Execution): boolean {
  return sentIn(execution).some(({ status }) => status !== null);
}

/** True for a scenario of which the target refused every connection, so that nothing was sent. */
function wasRefused(execution: Execution): boolean {
  const sent = sentIn(execution);
  return execution.status !== "passed" && sent.length > 0 &&
    sent.every(({ error }) => error?.endsWith(REFUSED));
}

/** True for a failure whose last connection the target broke off. */
function wasCutOff(execution: Execution): boolean {
  const last = sentIn(execution).at(-1)?.error;
  return execution.status === "failed" && (last === RESET || last === CUT_OFF);
}

/** The requests of a scenario, in their order. */
function sentIn({ evidence }: Execution): Sent[] {
  const { setup, response, race, ledger = [] } = evidence as {
    setup?: Sent;
    response?: Sent;
    race?: { shots: Sent[]; error: string | null };
    ledger?: (Sent & { statuses: (number | null)[] | null })[];
  };
  if (setup) return [setup];
  if (response) return [response];
  if (race) return race.shots.length > 0 ? race.shots : [{ status: null, error: race.error }];
  return ledger.map(({ error, status, statuses }) => ({
    error,
    status: status ?? statuses?.find((one) => one !== null) ?? null,
  }));
}

type Sent = Pick<HttpExchange, "error" | "status">;

function responseOf({ evidence }: Execution): Partial<Pick<HttpExchange, "status" | "error">> {
  return (evidence.response as Partial<HttpExchange> | undefined) ?? {};
}

function fails({ status, error }: HttpExchange): boolean {
  return error !== null || status! >= 500;
}
