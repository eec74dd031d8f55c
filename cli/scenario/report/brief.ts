import { visibleJson } from "../../terminal/visible.ts";
import { byPriority, type Execution, type Scenario } from "../schema.ts";
import { failuresOf, type RunResult } from "../summary.ts";
import { curlOf } from "./curl.ts";

/** Limits for a short answer. */
const FAILURES = 20;
const CHARS = 300;

/** One line of JSON: the figures and the most serious failures with how to repeat them. */
export function briefOf(result: RunResult): string {
  const { summary, exit_code } = result;
  const { coverage, areas: _areas, ...figures } = summary;
  const failures = failuresOf(result).sort((a, b) => byPriority(a.scenario, b.scenario));
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
