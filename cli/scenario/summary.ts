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
  run: { target: string | null; duration_ms: number },
): RunResult {
  const count = (status: Execution["status"]) =>
    executions.filter((execution) => execution.status === status).length;
  const failed = executions.filter(({ status }) => status === "failed");
  const critical = new Set(
    scenarios.filter(({ priority }) => priority === "critical").map((s) => s.scenario_id),
  );
  const critical_failures = failed.filter((one) => critical.has(one.scenario_id)).length;
  const skipped = count("skipped");
  const executed = executions.length - skipped;
  const summary: Summary = {
    scenarios: scenarios.length,
    executed,
    passed: count("passed"),
    failed: failed.length,
    skipped,
    inconclusive: count("inconclusive"),
    critical_failures,
    ...run,
    note: noteOf(scenarios.length, executed, run.target),
  };
  return { scenarios, executions, summary, exit_code: exitCode(summary) };
}

function exitCode({ failed, critical_failures }: Summary): number {
  if (critical_failures > 0) return EXIT.critical;
  return failed > 0 ? EXIT.failed : EXIT.passed;
}

function noteOf(scenarios: number, executed: number, target: string | null): string | null {
  if (scenarios === 0) return "Nothing was tested: there are no scenarios";
  if (target === null) {
    return "Nothing was executed: there is no --target, only the form was checked";
  }
  return executed === 0 ? "Nothing was tested: every scenario was skipped" : null;
}
