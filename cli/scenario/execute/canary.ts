import { setTimeout as sleep } from "node:timers/promises";
import type { Execution, Scenario } from "../schema.ts";
import type { ExecuteOptions } from "./execute.ts";
import {
  CUT_OFF,
  type HttpExchange,
  type HttpRequest,
  isSuccess,
  REFUSED,
  RESET,
  sendRequest,
} from "./http.ts";
import { isReading } from "./lane.ts";
import { requestOf } from "./request.ts";

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

/** How long a supervisor may take to restart a target that accepts no connections. */
const RESTART_MS = 5_000;
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

  constructor(options: ExecuteOptions) {
    this.#options = options;
  }

  /** Executes a scenario. Returns its result, with the blame added if it broke the target. */
  async watch(scenario: Scenario, execute: () => Promise<Execution>): Promise<Execution> {
    if (scenario.exec?.mode !== "cli" && !isReading(scenario)) await this.#proveFirstProbe();
    this.#running.add(scenario.scenario_id);
    try {
      let execution = await execute();
      // Nothing was sent, so this scenario is not the reason why the target refuses connections.
      if (!this.#brokenBy && wasRefused(execution)) {
        if (await this.#connectsAgain()) execution = await execute();
        else if (this.#isPreviousToBlame()) return this.#blamePrevious(execution);
      } else if (!this.#brokenBy && wasCutOff(execution) && await this.#connectsAgain()) {
        // The scenario before may have stopped the target only now. If the connection breaks a
        // second time, this scenario is the cause.
        execution = await execute();
      }
      const judged = await this.#judge(scenario, execution);
      if (!wasRefused(execution)) this.#lastSent = scenario.scenario_id;
      return judged;
    } finally {
      this.#running.delete(scenario.scenario_id);
    }
  }

  async #judge(scenario: Scenario, execution: Execution): Promise<Execution> {
    if (scenario.exec?.mode === "cli" || execution.status === "skipped") return execution;
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
    if (fails(probed.exchange)) return this.#blameForDamage(execution, probed.probe.request);
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

  /** True when the target accepts connections within RESTART_MS. */
  async #connectsAgain(): Promise<boolean> {
    const { target } = this.#options;
    const end = performance.now() + RESTART_MS;
    while (performance.now() < end) {
      const get = { method: "GET", path: "/", headers: {} };
      const { error } = await sendRequest(target, get, this.#options);
      // A target that is ending may reset this connection and refuse the next.
      if (error === null) return true;
      await sleep(PAUSE_MS);
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

  /** True when only the scenario before this one can have stopped the target. */
  #isPreviousToBlame(): boolean {
    return this.#brokenBy === null && this.#lastSent !== null && this.#running.size === 1;
  }

  /** Blames the scenario before. That one has its result already, so this one fails instead. */
  #blamePrevious(execution: Execution): Execution {
    this.#brokenBy = this.#lastSent;
    return {
      ...execution,
      reason: `${execution.reason}; ${this.#lastSent} had left the target broken`,
      evidence: { ...execution.evidence, after_damage_by: this.#lastSent },
    };
  }

  #forget(probe: Probe): void {
    this.#probes = this.#probes.filter((one) => one !== probe);
  }

  #blameForDamage(execution: Execution, { method, path }: HttpRequest): Execution {
    const suspects = [...this.#running].sort();
    const alone = suspects.length === 1;
    this.#brokenBy = alone ? execution.scenario_id : `one of ${suspects.join(", ")}`;
    const what = alone ? "it" : `it, or what was sent beside it (${suspects.join(", ")}),`;
    return {
      ...execution,
      status: "failed",
      reason: `${execution.reason}; and ${what} left the target broken: ` +
        `${method} ${path} fails since`,
      evidence: { ...execution.evidence, canary: { method, path, broken: true, suspects } },
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

/** True for a failure of which the target refused every connection, so that nothing was sent. */
function wasRefused(execution: Execution): boolean {
  const errors = errorsOf(execution);
  return execution.status === "failed" && errors.length > 0 &&
    errors.every((error) => error === REFUSED);
}

/** True for a failure whose last connection the target broke off. */
function wasCutOff(execution: Execution): boolean {
  const last = errorsOf(execution).at(-1);
  return execution.status === "failed" && (last === RESET || last === CUT_OFF);
}

/** The transport error of each request of a scenario, in their order; null for an answered one. */
function errorsOf({ evidence }: Execution): (string | null)[] {
  const { response, ledger = [] } = evidence as { response?: Sent; ledger?: Sent[] };
  return (response ? [response] : ledger).map(({ error }) => error);
}

type Sent = Pick<HttpExchange, "error">;

function responseOf({ evidence }: Execution): Partial<Pick<HttpExchange, "status" | "error">> {
  return (evidence.response as Partial<HttpExchange> | undefined) ?? {};
}

function fails({ status, error }: HttpExchange): boolean {
  return error !== null || status! >= 500;
}
