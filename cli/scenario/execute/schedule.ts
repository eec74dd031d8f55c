import { setTimeout as sleep } from "node:timers/promises";
import type { Execution, Scenario } from "../schema.ts";
import { Canary } from "./canary.ts";
import { type Controls, withControl } from "./controls.ts";
import { type ExecuteOptions, executeScenario, timed } from "./execute.ts";
import { isReading, laneOf, LANES } from "./lane.ts";
import type { Ran } from "./rounds.ts";
import { CLI_TARGET } from "./target.ts";

/** Runs scenarios without an `exec`: a playbook, or a text for a model. */
export interface ProseDriver {
  run: (scenario: Scenario) => Promise<Ran>;
}

/** The options of a whole run. */
export interface ScheduleOptions extends ExecuteOptions {
  driver: ProseDriver | null;
  workers: number;
  bail: boolean;
  /** How often a failure is repeated; 0 for never. */
  confirm: number;
  /** Requests that change data may be sent to the target. */
  may_change: boolean;
  /** Command lines are skipped. */
  only_requests: boolean;
  /** Least time between two starts in milliseconds; 0 for none. */
  interval_ms: number;
  /** The requests that passes rest on; null if the run has none. */
  controls: Controls | null;
  /** Called with each result as soon as it is known. */
  onResult: (execution: Execution, scenario: Scenario) => void;
  signal: AbortSignal;
}

/** Why a scenario of several requests, or one in words, was skipped. */
export const NO_DRIVER = "no driver was asked for (--driver)";

/**
 * Executes the scenarios and returns the results in their order. Runs reading requests in parallel,
 * then races one by one, then changes one by one, and last what may break the target.
 */
export async function executeAll(
  scenarios: readonly Scenario[],
  options: ScheduleOptions,
): Promise<Execution[]> {
  const results = new Map<Scenario, Execution>();
  const pace = createPace(options.interval_ms);
  let stopped = false;
  const report = (scenario: Scenario, execution: Execution) => {
    if (execution.status === "failed" && options.bail) stopped = true;
    results.set(scenario, execution);
    options.onResult(execution, scenario);
  };
  const canary = new Canary(options, {
    amend: (id, change) => {
      const scenario = scenarios.find(({ scenario_id }) => scenario_id === id)!;
      report(scenario, change(results.get(scenario)!));
    },
    hasAnswered: [...options.controls?.values() ?? []].some(({ succeeded }) => succeeded),
  });
  const runAndReport = async (scenario: Scenario) => {
    const ran = stopped || options.signal.aborted
      ? skipped(scenario, stopped ? "an earlier scenario failed (--bail)" : "the run was stopped")
      : await pace().then(() => runOne(scenario, options, canary));
    const { controls } = options;
    report(scenario, controls ? withControl(ran, scenario, controls) : ran);
  };
  for (const lane of LANES) {
    const queue = scenarios.filter((scenario) => laneOf(scenario) === lane).sort(byHarm);
    await drain(queue, lane === "read" ? options.workers : 1, runAndReport);
  }
  return scenarios.map((scenario) => results.get(scenario)!);
}

/** Good cases first, because the canary learns from them; what is known to change data last. */
function byHarm(one: Scenario, other: Scenario): number {
  return Number(one.changes === true) - Number(other.changes === true) ||
    Number(one.is_edge_case) - Number(other.is_edge_case);
}

async function runOne(
  scenario: Scenario,
  options: ScheduleOptions,
  canary: Canary,
): Promise<Execution> {
  const obstacle = obstacleOf(scenario, options);
  if (obstacle) return skipped(scenario, obstacle);
  return await canary.watch(
    scenario,
    async () =>
      scenario.exec
        ? await confirmFailure(scenario, await executeScenario(scenario, options), options)
        : await timed(scenario, () => options.driver!.run(scenario)),
  );
}

function obstacleOf(scenario: Scenario, options: ScheduleOptions): string | null {
  if (options.only_requests && scenario.exec?.mode === "cli") {
    return "it runs a program (--only-requests)";
  }
  if (options.target === CLI_TARGET && scenario.exec?.mode !== "cli") {
    return "it needs a service, and the target is cli";
  }
  if (!scenario.exec) {
    if (options.driver) return null;
    return scenario.playbook === undefined ? `it is in words, and ${NO_DRIVER}` : NO_DRIVER;
  }
  const changes = scenario.exec.mode === "http" && !isReading(scenario);
  if (changes && !options.may_change) {
    return "it may change data on another machine (--allow-destructive)";
  }
  return null;
}

/**
 * Repeats a failure and reports how often it failed again. The verdict stays a failure: a retry that
 * passes would hide a bug that shows only sometimes.
 */
async function confirmFailure(
  scenario: Scenario,
  execution: Execution,
  options: ScheduleOptions,
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

function skipped(scenario: Scenario, why: string): Execution {
  const { scenario_id } = scenario;
  return {
    scenario_id,
    status: "skipped",
    reason: `Skipped: ${why}`,
    evidence: {},
    duration_ms: 0,
  };
}

/** Runs the task for each item, with several workers at once. */
async function drain<T>(queue: T[], workers: number, task: (item: T) => Promise<void>) {
  const waiting = queue.values();
  const worker = async () => {
    for (const item of waiting) await task(item);
  };
  await Promise.all(Array.from({ length: Math.max(1, workers) }, worker));
}

/** Returns a function that waits until `interval` milliseconds after its last turn. */
function createPace(interval: number): () => Promise<void> {
  let next = 0;
  return async () => {
    if (interval === 0) return;
    const now = performance.now();
    const wait = Math.max(0, next - now);
    next = Math.max(now, next) + interval;
    if (wait > 0) await sleep(wait);
  };
}
