import type { Execution, Scenario } from "../schema.ts";
import { type ExecuteOptions, executeScenario } from "./execute.ts";

/**
 * Repeats a failure and reports how often it came back: the verdict stays a failure, because hiding
 * a bug that shows only sometimes is what retries are infamous for.
 */
export async function confirmFailure(
  scenario: Scenario,
  execution: Execution,
  options: ExecuteOptions & { confirm: number },
): Promise<Execution> {
  if (execution.status !== "failed" || options.confirm === 0 || !scenario.exec) return execution;
  let failed = 0;
  for (let n = 0; n < options.confirm; n++) {
    if ((await executeScenario(scenario, options)).status === "failed") failed++;
  }
  const confirm = { repeated: options.confirm, failed, flaky: failed < options.confirm };
  const again = `failed again in ${failed} of ${options.confirm} repetitions`;
  return {
    ...execution,
    reason: `${execution.reason}; ${again}`,
    evidence: { ...execution.evidence, confirm },
  };
}
