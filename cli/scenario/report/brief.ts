import { visibleJson } from "../../terminal/visible.ts";
import type { Execution, Scenario } from "../schema.ts";
import type { RunResult } from "../summary.ts";
import { curlOf } from "./curl.ts";

/** What fits into an answer that somebody has to read whole. */
const FAILURES = 20;
const CHARS = 300;
const WEIGHT = { critical: 0, high: 1, medium: 2, low: 3 };

/** One line of JSON: the figures, and the failures that weigh most with how to repeat them. */
export function briefOf({ scenarios, executions, summary, exit_code }: RunResult): string {
  const byId = new Map(scenarios.map((scenario) => [scenario.scenario_id, scenario]));
  const { coverage, areas: _areas, ...figures } = summary;
  const failures = executions.filter(({ status }) => status === "failed")
    .map((execution) => ({ execution, scenario: byId.get(execution.scenario_id)! }))
    .sort((a, b) => WEIGHT[a.scenario.priority] - WEIGHT[b.scenario.priority]);
  const shown = failures.slice(0, FAILURES).map((one) => failureOf(one, summary.target));
  return visibleJson({
    summary: {
      ...figures,
      operations: coverage?.operations ?? 0,
      families: coverage?.families ?? 0,
    },
    failures: shown,
    more_failures: failures.length - shown.length,
    exit_code,
  }, 0);
}

function failureOf(
  { execution, scenario }: { execution: Execution; scenario: Scenario },
  target: string | null,
) {
  const repeat = target === null ? null : curlOf(scenario, target);
  return {
    scenario_id: scenario.scenario_id,
    priority: scenario.priority,
    title: cut(scenario.title),
    family: scenario.family ?? null,
    operation: scenario.operation ?? null,
    expected: cut(scenario.expected_behavior),
    happened: cut(execution.reason),
    repeat: repeat !== null && repeat.length <= 2 * CHARS ? repeat : null,
  };
}

function cut(text: string): string {
  return text.length > CHARS ? `${text.slice(0, CHARS)}…` : text;
}
