import type { Execution, Scenario } from "../schema.ts";
import type { ExecuteOptions } from "./execute.ts";
import { type HttpRequest, sendRequest } from "./http.ts";
import { isReading } from "./lane.ts";
import { requestOf } from "./request.ts";

/**
 * A request that is known to be good, sent again after whatever may have hurt the target: it tells
 * which scenario did lasting damage, which a list of failures does not.
 */
export class Canary {
  readonly #options: ExecuteOptions;
  #request: HttpRequest | null = null;
  /** It was answered well to somebody who is logged in. */
  #isLoggedIn = false;
  #brokenBy: string | null = null;
  #loggedOutBy: string | null = null;
  /** What is being sent now: reading requests share the workers. */
  readonly #running = new Set<string>();

  constructor(options: ExecuteOptions) {
    this.#options = options;
  }

  /** Executes, and adds the blame when the target has been broken since. */
  async watch(scenario: Scenario, execute: () => Promise<Execution>): Promise<Execution> {
    this.#running.add(scenario.scenario_id);
    try {
      return await this.#judge(scenario, await execute());
    } finally {
      this.#running.delete(scenario.scenario_id);
    }
  }

  async #judge(scenario: Scenario, execution: Execution): Promise<Execution> {
    if (scenario.exec?.mode === "cli" || execution.status === "skipped") return execution;
    if (this.#brokenBy) return afterDamage(execution, this.#brokenBy);
    if (this.#loggedOutBy) return afterLogout(scenario, execution, this.#loggedOutBy);
    this.#learn(scenario, execution);
    const harmless = isReading(scenario) && execution.status === "passed";
    if (!this.#request || harmless) return execution;
    const { status, error } = await sendRequest(
      this.#options.target,
      this.#request,
      this.#options,
    );
    // Another worker may have found out meanwhile.
    if (this.#brokenBy) return afterDamage(execution, this.#brokenBy);
    if (error !== null || status! >= 500) return this.#blame(execution);
    if (!this.#isLoggedIn || (status !== 401 && status !== 403)) return execution;
    this.#loggedOutBy = scenario.scenario_id;
    return { ...execution, reason: `${execution.reason}; it ended the login of this run` };
  }

  /** The first plain GET that was answered well is the one to repeat, best of all a guarded one. */
  #learn(scenario: Scenario, execution: Execution): void {
    const good = scenario.exec?.method === "GET" && isGood(statusOf(execution));
    const guarded = scenario.exec?.presumes?.includes("login") ?? false;
    if (!good || (this.#request && (this.#isLoggedIn || !guarded))) return;
    this.#request = requestOf(scenario, this.#options);
    this.#isLoggedIn = guarded;
  }

  #blame(execution: Execution): Execution {
    const { method, path } = this.#request!;
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

/** A refusal says nothing once the credentials are gone. */
function afterLogout({ exec }: Scenario, execution: Execution, culprit: string): Execution {
  const refused = [401, 403].includes(statusOf(execution) ?? 0);
  if (!refused || !exec?.presumes?.includes("login")) return execution;
  const reason = `${execution.reason}, but ${culprit} had ended the login of this run`;
  return { ...execution, status: "inconclusive", reason };
}

function statusOf({ evidence }: Execution): number | null {
  return (evidence.response as { status?: number | null } | undefined)?.status ?? null;
}

function isGood(status: number | null): boolean {
  return status !== null && status >= 200 && status < 300;
}

/** What fails on a broken target is still a failure, and the culprit is named beside it. */
function afterDamage(execution: Execution, culprit: string): Execution {
  const reason = execution.status === "failed"
    ? `${execution.reason}; ${culprit} had left the target broken`
    : execution.reason;
  return {
    ...execution,
    reason,
    evidence: { ...execution.evidence, after_damage_by: culprit },
  };
}
