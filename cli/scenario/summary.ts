import { EXIT } from "./errors.ts";
import type { Execution, Finding, Scenario } from "./schema.ts";

/** The figures of a run. */
export interface Summary {
  scenarios: number;
  executed: number;
  passed: number;
  failed: number;
  skipped: number;
  inconclusive: number;
  critical_failures: number;
  /** Failures that the baseline accepts. They do not change the exit code. */
  accepted: number;
  /** Failures that did not repeat every time (`--confirm`). */
  flaky: number;
  areas: AreaConfidence[];
  coverage: Coverage | null;
  /** The operations that never succeeded. Their passes are inconclusive. */
  untested: Untested[];
  target: string | null;
  duration_ms: number;
  /** Why the run tested nothing; null when it tested something. */
  note: string | null;
}

/** An operation without a success, why, and the next step. */
export interface Untested {
  operation: string;
  reason: string;
}

/** The results for one area of the system. */
export interface AreaConfidence {
  area: string;
  passed: number;
  failed: number;
  /** Share that passed, null where nothing was decided. */
  rate: number | null;
  /** 95 % Wilson bounds of that share. With few scenarios they are far apart. */
  low: number;
  high: number;
}

/** The families that were generated for each operation. */
export interface Coverage {
  operations: number;
  families: number;
  /** Operation → the names of its families, both sorted. */
  matrix: Record<string, string[]>;
}

/** Everything that `run --output json` prints. */
export interface RunResult {
  scenarios: Scenario[];
  executions: Execution[];
  /** The failures, folded by their cause and ranked. */
  findings?: Finding[];
  summary: Summary;
  exit_code: number;
}

/** Adds a run up. The exit code is 2 only for a critical failure that was executed. */
export function summarize(
  scenarios: Scenario[],
  executions: Execution[],
  { stopped = false, untested = [], ...run }: {
    target: string | null;
    duration_ms: number;
    stopped?: boolean;
    untested?: Untested[];
  },
): RunResult {
  const count = (test: (execution: Execution) => boolean) => executions.filter(test).length;
  const critical = new Set(
    scenarios.filter(({ priority }) => priority === "critical").map((s) => s.scenario_id),
  );
  const skipped = count(({ status }) => status === "skipped");
  const summary: Summary = {
    scenarios: scenarios.length,
    executed: executions.length - skipped,
    passed: count(({ status }) => status === "passed"),
    failed: count(({ status }) => status === "failed"),
    skipped,
    inconclusive: count(({ status }) => status === "inconclusive"),
    critical_failures: count(({ status, evidence, scenario_id }) =>
      status === "failed" && evidence.accepted === undefined && critical.has(scenario_id)
    ),
    accepted: count(({ evidence }) => evidence.accepted !== undefined),
    flaky: count(({ evidence }) =>
      (evidence.confirm as { flaky?: boolean } | undefined)?.flaky === true
    ),
    areas: confidenceOf(scenarios, executions),
    coverage: coverageOf(scenarios),
    untested,
    ...run,
    note: null,
  };
  summary.note = stopped
    ? "The run was stopped before its end"
    : noteOf(summary) ?? noteOfUnsent(executions);
  // The scenarios that passed in half a run do not prove that the target is fine.
  const code = exitCode(summary);
  return { scenarios, executions, summary, exit_code: stopped ? code || EXIT.error : code };
}

/** The failures of a run with their scenarios, in the order of execution. */
export function failuresOf(
  { scenarios, executions }: Pick<RunResult, "scenarios" | "executions">,
): { scenario: Scenario; execution: Execution }[] {
  const byId = new Map(scenarios.map((scenario) => [scenario.scenario_id, scenario]));
  return executions.filter(({ status }) => status === "failed")
    .map((execution) => ({ execution, scenario: byId.get(execution.scenario_id)! }));
}

/** Wilson's score interval at 95 % (E. B. Wilson, 1927). */
export function wilson(passed: number, total: number): { low: number; high: number } {
  if (total === 0) return { low: 0, high: 1 };
  const z = 1.959964;
  const share = passed / total;
  const centre = share + z * z / (2 * total);
  const spread = z * Math.sqrt(share * (1 - share) / total + z * z / (4 * total * total));
  const scale = 1 + z * z / total;
  return { low: round((centre - spread) / scale), high: round((centre + spread) / scale) };
}

/** One row for each area, sorted by name. Only passed and failed scenarios count. */
function confidenceOf(scenarios: Scenario[], executions: Execution[]): AreaConfidence[] {
  const areaOf = new Map(scenarios.map((one) => [one.scenario_id, one.confidence_area]));
  const counts = new Map<string, { passed: number; failed: number }>();
  for (const { scenario_id, status } of executions) {
    if (status !== "passed" && status !== "failed") continue;
    const area = areaOf.get(scenario_id)!;
    const count = counts.get(area) ?? { passed: 0, failed: 0 };
    count[status] += 1;
    counts.set(area, count);
  }
  return [...counts].sort(([a], [b]) => a < b ? -1 : 1).map(([area, { passed, failed }]) => ({
    area,
    passed,
    failed,
    rate: round(passed / (passed + failed)),
    ...wilson(passed, passed + failed),
  }));
}

/** The coverage of the generated scenarios; null where none was generated. */
function coverageOf(scenarios: Scenario[]): Coverage | null {
  const cells = new Map<string, Set<string>>();
  for (const { operation, family } of scenarios) {
    if (typeof operation !== "string" || typeof family !== "string") continue;
    cells.set(operation, (cells.get(operation) ?? new Set()).add(family));
  }
  if (cells.size === 0) return null;
  const rows = [...cells].sort(([a], [b]) => a < b ? -1 : 1)
    .map(([operation, families]) => [operation, [...families].sort()] as const);
  const families = new Set(rows.flatMap(([, names]) => names)).size;
  return { operations: cells.size, families, matrix: Object.fromEntries(rows) };
}

function exitCode({ failed, accepted, critical_failures, target, executed }: Summary): number {
  // A run against a target that executed nothing must not look green.
  if (target !== null && executed === 0) return EXIT.error;
  if (critical_failures > 0) return EXIT.critical;
  return failed > accepted ? EXIT.failed : EXIT.passed;
}

function noteOf({ scenarios, executed, inconclusive, target }: Summary): string | null {
  if (scenarios === 0) {
    return "Nothing was tested: no scenario was read (give --target and --spec), or kept by " +
      "--filter, --priority and --area";
  }
  if (target === null) {
    return "Nothing was executed: there is no --target, so only the form was checked";
  }
  if (executed === 0) return "Nothing was tested: every scenario was skipped";
  return inconclusive === executed
    ? "Nothing was decided: every executed scenario is inconclusive"
    : null;
}

/** Why a part of the run was not sent to the target; null if everything was sent. */
function noteOfUnsent(executions: Execution[]): string | null {
  const unsent = executions.filter(({ evidence }) => evidence.not_sent === true);
  if (unsent.length === 0) return null;
  const what = unsent.length === 1 ? "1 scenario was" : `${unsent.length} scenarios were`;
  const why = unsent[0]!.reason.replace(/^Not sent: /, "");
  return `${what} not sent: ${why}`;
}

function round(value: number): number {
  return Math.min(1, Math.max(0, Math.round(value * 1_000) / 1_000));
}
