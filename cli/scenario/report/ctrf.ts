import { visibleJson } from "../../terminal/visible.ts";
import type { RunResult } from "../summary.ts";

const STATUS = {
  passed: "passed",
  failed: "failed",
  skipped: "skipped",
  inconclusive: "other",
} as const;

/** Common Test Report Format. */
export function ctrfOf(
  { scenarios, executions, summary }: RunResult,
  context: { started_at: number },
): string {
  const byId = new Map(executions.map((execution) => [execution.scenario_id, execution]));
  const tests = scenarios.map((scenario) => {
    const execution = byId.get(scenario.scenario_id);
    return {
      name: `${scenario.scenario_id} ${scenario.title}`,
      status: execution ? STATUS[execution.status] : "skipped",
      duration: execution?.duration_ms ?? 0,
      suite: [scenario.confidence_area],
      tags: [scenario.priority],
      ...(execution ? { message: execution.reason } : {}),
    };
  });
  const report = {
    reportFormat: "CTRF",
    specVersion: "0.0.0",
    results: {
      tool: { name: "scenario-tool" },
      summary: {
        tests: scenarios.length,
        passed: summary.passed,
        failed: summary.failed,
        pending: 0,
        skipped: summary.skipped + scenarios.length - executions.length,
        other: summary.inconclusive,
        start: context.started_at,
        stop: context.started_at + summary.duration_ms,
      },
      tests,
    },
  };
  return `${visibleJson(report, 2)}\n`;
}
