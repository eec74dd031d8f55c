import { visibleJson, visibleLine } from "../../terminal/visible.ts";
import type { Execution, Scenario } from "../schema.ts";
import type { RunResult } from "../summary.ts";

/** TAP 14: one line for each scenario, a YAML block for each failure. */
export function tapOf({ scenarios, executions }: RunResult): string {
  const byId = new Map(executions.map((execution) => [execution.scenario_id, execution]));
  const lines = scenarios.flatMap((scenario, n) =>
    pointOf(scenario, byId.get(scenario.scenario_id), n + 1)
  );
  return ["TAP version 14", `1..${scenarios.length}`, ...lines, ""].join("\n");
}

function pointOf(scenario: Scenario, execution: Execution | undefined, number: number): string[] {
  const name = `${number} - ${words(`${scenario.scenario_id} ${scenario.title}`)}`;
  if (execution?.status === "passed") return [`ok ${name}`];
  if (execution?.status !== "failed") {
    return [`ok ${name} # SKIP ${words(execution?.reason ?? "no --target")}`];
  }
  return [
    `not ok ${name}`,
    "  ---",
    `  message: ${visibleJson(execution.reason, 0)}`,
    `  severity: ${scenario.priority}`,
    `  expected: ${visibleJson(scenario.expected_behavior, 0)}`,
    "  ...",
  ];
}

/** A description is one line, and `#` begins a directive. */
function words(text: string): string {
  return visibleLine(text.replaceAll(/\s+/g, " ")).replaceAll("\\", "\\\\").replaceAll("#", "\\#");
}
