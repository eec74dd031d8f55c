import { setTimeout as sleep } from "node:timers/promises";
import type { Execution, Scenario } from "../schema.ts";
import type { ExecuteOptions } from "./execute.ts";
import { type HttpExchange, type HttpRequest, isSuccess, REFUSED, sendRequest } from "./http.ts";
import { isReading } from "./lane.ts";
import { requestOf } from "./request.ts";

/** A plain GET that a healthy target answered with a 2xx. */
interface Model {
  /** The scenario that it was learned from. */
  id: string;
  request: HttpRequest;
  /** The request carries the login of this run. */
  isLoggedIn: boolean;
  /** It was answered well a second time, so the route does not fail by itself. */
  isProven: boolean;
}

/** How long a target that takes no connections may need to be started again. */
const RESTART_MS = 5_000;
const PAUSE_MS = 100;
/** At most this many models are remembered. */
const MODELS = 5;

/**
 * Repeats a request that was answered well after every scenario that may damage the target. When
 * the repetition fails, the canary names the scenario that did the damage.
 */
export class Canary {
  readonly #options: ExecuteOptions;
  /** The first one is asked; requests with a login come first. */
  #models: Model[] = [];
  #brokenBy: string | null = null;
  #loggedOutBy: string | null = null;
  /** The latest scenario that was sent and ended. */
  #last: string | null = null;
  /** Scenarios in flight: reading requests run in parallel. */
  readonly #running = new Set<string>();

  constructor(options: ExecuteOptions) {
    this.#options = options;
  }

  /** Executes a scenario. Returns its result, with the blame added if it broke the target. */
  async watch(scenario: Scenario, execute: () => Promise<Execution>): Promise<Execution> {
    if (scenario.exec?.mode !== "cli" && !isReading(scenario)) await this.#prove();
    this.#running.add(scenario.scenario_id);
    try {
      let execution = await execute();
      // Nothing was sent, so the scenario is not why the target takes no connections.
      if (!this.#brokenBy && neverSent(execution)) {
        if (await this.#comesBack()) execution = await execute();
        else if (this.#endedBefore()) return this.#gone(execution);
      } else if (!this.#brokenBy && wasCutOff(execution) && await this.#comesBack()) {
        // The one before may have stopped the target only now; a second time it is this one.
        execution = await execute();
      }
      const judged = await this.#judge(scenario, execution);
      if (!neverSent(execution)) this.#last = scenario.scenario_id;
      return judged;
    } finally {
      this.#running.delete(scenario.scenario_id);
    }
  }

  async #judge(scenario: Scenario, execution: Execution): Promise<Execution> {
    if (scenario.exec?.mode === "cli" || execution.status === "skipped") return execution;
    if (this.#brokenBy) return afterDamage(execution, this.#brokenBy);
    if (this.#loggedOutBy) return afterLogout(scenario, execution, this.#loggedOutBy);
    this.#learn(scenario, execution);
    if (isReading(scenario) && execution.status === "passed") return execution;
    const asked = await this.#ask();
    // Another worker may have found the damage meanwhile.
    if (this.#brokenBy) return afterDamage(execution, this.#brokenBy);
    if (!asked) return execution;
    if (asked.exchange.error === REFUSED && await this.#isBack(asked.model)) {
      return this.#stopped(execution);
    }
    if (fails(asked.exchange)) return this.#blame(execution, asked.model.request);
    const isRefused = asked.exchange.status === 401 || asked.exchange.status === 403;
    if (!asked.model.isLoggedIn || !isRefused) return execution;
    this.#loggedOutBy = scenario.scenario_id;
    return { ...execution, reason: `${execution.reason}; it ended the login of this run` };
  }

  /** Learns only from a GET that passed with a complete 2xx answer. */
  #learn({ exec, ...scenario }: Scenario, execution: Execution): void {
    const { status, error = null } = responseOf(execution);
    const isWhole = execution.status === "passed" && error === null;
    // One that changes data would change it with every question.
    if (exec?.method !== "GET" || scenario.changes || !isWhole || !isSuccess(status)) return;
    const isLoggedIn = exec.presumes?.includes("login") ?? false;
    const request = requestOf({ ...scenario, exec }, this.#options);
    const model = { id: scenario.scenario_id, request, isLoggedIn, isProven: false };
    const [same, others] = partition(this.#models, (one) => one.isLoggedIn === isLoggedIn);
    // Readings end in any order, and every run must ask the same ones.
    const isParallel = isReading({ ...scenario, exec });
    const all = isParallel ? [...same, model].sort(byId) : [...same, model];
    const kept = all.slice(0, isLoggedIn ? 1 : MODELS);
    this.#models = isLoggedIn ? [...kept, ...others] : [...others, ...kept];
  }

  /** Asks once before a risky scenario and forgets the models that already fail by themselves. */
  async #prove(): Promise<void> {
    while (!this.#brokenBy && this.#models[0]?.isProven === false) {
      const model = this.#models[0];
      const { status, error } = await this.#send(model);
      model.isProven = error === null && isSuccess(status);
      if (!model.isProven) this.#forget(model);
    }
  }

  /**
   * Returns the first answer that tells how the target is. A failure tells it only if the model
   * was proven, a second model fails too, or the target takes no connections at all.
   */
  async #ask(): Promise<{ model: Model; exchange: HttpExchange } | null> {
    let failures = 0;
    while (this.#models[0]) {
      const model = this.#models[0];
      let exchange = await this.#send(model);
      // A failure that does not repeat is not lasting damage.
      if (fails(exchange)) exchange = await this.#send(model);
      failures += fails(exchange) ? 1 : 0;
      const isDown = exchange.error === REFUSED;
      if (!fails(exchange) || model.isProven || failures > 1 || isDown) {
        model.isProven ||= !fails(exchange);
        return { model, exchange };
      }
      this.#forget(model);
    }
    return null;
  }

  #send({ request }: Model): Promise<HttpExchange> {
    return sendRequest(this.#options.target, request, this.#options);
  }

  /** True when the target takes connections again soon, as one that is supervised does. */
  async #isBack(model: Model): Promise<boolean> {
    const end = performance.now() + RESTART_MS;
    while (performance.now() < end) {
      await sleep(PAUSE_MS);
      if (!fails(await this.#send(model))) return true;
    }
    return false;
  }

  /** True when the target takes connections again soon. */
  async #comesBack(): Promise<boolean> {
    const { target } = this.#options;
    const end = performance.now() + RESTART_MS;
    while (performance.now() < end) {
      const get = { method: "GET", path: "/", headers: {} };
      const { error } = await sendRequest(target, get, this.#options);
      // One that still ends may reset connections, and refuses the next.
      if (error === null) return true;
      await sleep(PAUSE_MS);
    }
    return false;
  }

  #stopped(execution: Execution): Execution {
    const suspects = [...this.#running].sort();
    const who = suspects.length === 1 ? "it" : `one of ${suspects.join(", ")}`;
    return {
      ...execution,
      status: "failed",
      reason: `${execution.reason}; and ${who} stopped the target, which was started again`,
      evidence: { ...execution.evidence, canary: { stopped: true, suspects } },
    };
  }

  /** True when the target can only have ended through the scenario before this one. */
  #endedBefore(): boolean {
    return this.#brokenBy === null && this.#last !== null && this.#running.size === 1;
  }

  /** Blames the scenario before. It has its result already, so the one that met this fails. */
  #gone(execution: Execution): Execution {
    this.#brokenBy = this.#last;
    return {
      ...execution,
      reason: `${execution.reason}; ${this.#last} had left the target broken`,
      evidence: { ...execution.evidence, after_damage_by: this.#last },
    };
  }

  #forget(model: Model): void {
    this.#models = this.#models.filter((one) => one !== model);
  }

  #blame(execution: Execution, { method, path }: HttpRequest): Execution {
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

function byId(one: Model, other: Model): number {
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

/** A failure on a broken target names the culprit. One that was never sent shows nothing. */
function afterDamage(execution: Execution, culprit: string): Execution {
  const blamed = { evidence: { ...execution.evidence, after_damage_by: culprit } };
  if (execution.status !== "failed") return { ...execution, ...blamed };
  const reason = `${execution.reason}; ${culprit} had left the target broken`;
  const status = neverSent(execution) ? "inconclusive" : "failed";
  return { ...execution, ...blamed, status, reason };
}

function neverSent({ status, reason }: Execution): boolean {
  return status === "failed" && reason.includes(REFUSED);
}

function wasCutOff({ status, reason }: Execution): boolean {
  return status === "failed" && /the connection was reset|the answer was cut off/.test(reason);
}

function responseOf({ evidence }: Execution): Partial<Pick<HttpExchange, "status" | "error">> {
  return (evidence.response as Partial<HttpExchange> | undefined) ?? {};
}

function fails({ status, error }: HttpExchange): boolean {
  return error !== null || status! >= 500;
}
