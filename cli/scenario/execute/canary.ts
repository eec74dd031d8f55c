import type { Execution, Scenario } from "../schema.ts";
import { type ExecuteOptions, requestOf } from "./execute.ts";
import { type HttpRequest, sendRequest } from "./http.ts";
import { isReading } from "./lane.ts";

/**
 * A request that is known to be good, sent again after whatever may have hurt the target: it tells
 * which scenario did lasting damage, which a list of failures does not.
 */
export class Canary {
  readonly #options: ExecuteOptions;
  #request: HttpRequest | null = null;
  #brokenBy: string | null = null;

  constructor(options: ExecuteOptions) {
    this.#options = options;
  }

  /** The execution, with the blame when the target has been broken since. */
  async watch(scenario: Scenario, execution: Execution): Promise<Execution> {
    if (scenario.exec?.mode === "cli" || execution.status === "skipped") return execution;
    if (this.#brokenBy) return afterDamage(execution, this.#brokenBy);
    this.#learn(scenario, execution);
    const harmless = isReading(scenario) && execution.status === "passed";
    if (!this.#request || harmless) return execution;
    if (await this.#sings()) return execution;
    this.#brokenBy = scenario.scenario_id;
    return this.#blame(execution);
  }

  /** The first plain GET that was answered well is the one to repeat. */
  #learn(scenario: Scenario, execution: Execution): void {
    const status = (execution.evidence.response as { status?: number } | undefined)?.status ?? 0;
    const good = scenario.exec?.method === "GET" && status >= 200 && status < 300;
    if (!this.#request && good) this.#request = requestOf(scenario, this.#options);
  }

  async #sings(): Promise<boolean> {
    const exchange = await sendRequest(this.#options.target, this.#request!, this.#options);
    return exchange.error === null && exchange.status! < 500;
  }

  #blame(execution: Execution): Execution {
    const { method, path } = this.#request!;
    return {
      ...execution,
      status: "failed",
      reason: `${execution.reason}; and it left the target broken: ${method} ${path} fails since`,
      evidence: { ...execution.evidence, canary: { method, path, broken: true } },
    };
  }
}

function afterDamage(execution: Execution, culprit: string): Execution {
  return { ...execution, evidence: { ...execution.evidence, after_damage_by: culprit } };
}
