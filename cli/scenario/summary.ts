import { type AreaConfidence, confidenceOf } from "./confidence.ts";
import { type Coverage, coverageOf } from "./coverage.ts";
import { EXIT } from "./errors.ts";
import type { Execution, Scenario } from "./schema.ts";

/** The figures of a run. */
export interface Summary {
  scenarios: number;
  executed: number;
  passed: number;
  failed: number;
  skipped: number;
  inconclusive: number;
  critical_failures: number;
  /** Failures that the baseline accepts; they do not change the exit code. */
  accepted: number;
  /** Failures that did not fail every time they were repeated (`--confirm`). */
  flaky: number;
  areas: AreaConfidence[];
  coverage: Coverage | null;
  target: string | null;
  duration_ms: number;
  /** Why nothing was tested, when nothing was. */
  note: string | null;
}

/** Everything that `run --output json` prints. */
export interface RunResult {
  scenarios: Scenario[];
  executions: Execution[];
  summary: Summary;
  exit_code: number;
}

/** Adds a run up; its exit code is 2 only for a critical failure that was really executed. */
export function summarize(
  scenarios: Scenario[],
  executions: Execution[],
  { stopped = false, ...run }: { target: string | null; duration_ms: number; stopped?: boolean },
): RunResult {
  const count = (test: (execution: Execution) => boolean) => executions.filter(test).length;
  const critical = new Set(
    scenarios.filter(({ priority }) => priority === "critical").map((s) => s.scenario_id),
  );
  const skipped = count(({ status }) => status === "skipped");
  const executed = executions.length - skipped;
  const summary: Summary = {
    scenarios: scenarios.length,
    executed,
    passed: count(({ status }) => status === "passed"),
    failed: count(({ status }) => status === "failed"),
    skipped,
    inconclusive: count(({ status }) => status === "inconclusive"),
    critical_failures: count((one) => counts(one) && critical.has(one.scenario_id)),
    accepted: count(({ evidence }) => evidence.accepted !== undefined),
    flaky: count(({ evidence }) =>
      (evidence.confirm as { flaky?: boolean } | undefined)?.flaky === true
    ),
    areas: confidenceOf(scenarios, executions),
    coverage: coverageOf(scenarios),
    ...run,
    note: null,
  };
  summary.note = stopped ? "The run was stopped before its end" : noteOf(summary);
  // Half a run proves nothing by what has passed in it.
  const code = exitCode(summary);
  return { scenarios, executions, summary, exit_code: stopped ? code || EXIT.error : code };
}

/** A failure that nobody has accepted. */
function counts({ status, evidence }: Execution): boolean {
  return status === "failed" && evidence.accepted === undefined;
}

function exitCode({ failed, accepted, critical_failures }: Summary): number {
  if (critical_failures > 0) return EXIT.critical;
  return failed > accepted ? EXIT.failed : EXIT.passed;
}

function noteOf({ scenarios, executed, inconclusive, target }: Summary): string | null {
  if (scenarios === 0) return "Nothing was tested: there are no scenarios";
  if (target === null) {
    return "Nothing was executed: there is no --target, only the form was checked";
  }
  if (executed === 0) return "Nothing was tested: every scenario was skipped";
  return inconclusive === executed
    ? "Nothing was decided: every scenario that was executed is inconclusive"
    : null;
}
