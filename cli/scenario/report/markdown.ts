import { visibleLine } from "../../terminal/visible.ts";
import type { Execution, Scenario } from "../schema.ts";
import { failuresOf, type RunResult } from "../summary.ts";
import { curlOf } from "./curl.ts";
import { blindSpotsOf, matrixLines, raceLines } from "./lines.ts";

/** A report for a pull request: the figures, then the failures with how to repeat them. */
export function markdownOf(result: RunResult): string {
  const { scenarios, executions, summary } = result;
  const lines = [
    "# Scenarios",
    "",
    "| scenarios | executed | passed | failed | skipped | inconclusive |",
    "|---|---|---|---|---|---|",
    `| ${summary.scenarios} | ${summary.executed} | ${summary.passed} | ${summary.failed} | ` +
    `${summary.skipped} | ${summary.inconclusive} |`,
    ...(summary.note ? ["", `> ${summary.note}`] : []),
    ...(summary.untested.length === 0
      ? []
      : ["", "## Not tested", "", ...summary.untested.map(({ reason }) => `- ${cell(reason)}`)]),
    ...(executions.length === 0 ? ["", ...scenarioTable(scenarios)] : []),
    ...failuresOf(result).flatMap((one) => failure(one.execution, one.scenario, summary.target)),
    ...blindSpots(executions),
    ...matrix(summary.coverage),
  ];
  return lines.join("\n");
}

function matrix(coverage: RunResult["summary"]["coverage"]): string[] {
  if (!coverage) return [];
  const lines = matrixLines(coverage).map((line) => line.replaceAll("```", "` ` `"));
  const summary = "<details><summary>Coverage: operation × family</summary>";
  return ["", summary, "", "```text", ...lines, "```", "", "</details>"];
}

function scenarioTable(scenarios: Scenario[]): string[] {
  if (scenarios.length === 0) return [];
  const rows = scenarios.map(({ scenario_id, priority, confidence_area, title }) =>
    `| ${scenario_id} | ${priority} | ${cell(confidence_area)} | ${cell(title)} |`
  );
  return ["| id | priority | area | title |", "|---|---|---|---|", ...rows];
}

function failure(execution: Execution, scenario: Scenario, target: string | null): string[] {
  const curl = target === null ? null : curlOf(scenario, target);
  return [
    "",
    `## ${execution.scenario_id} (${scenario.priority}) ${cell(scenario.title)}`,
    "",
    `- Expected: ${cell(scenario.expected_behavior)}`,
    `- Happened: ${cell(execution.reason)}`,
    ...raceLines(execution).map((line) => `- Race: ${cell(line)}`),
    ...(curl ? ["", "```sh", visibleLine(curl).replaceAll("```", "` ` `"), "```"] : []),
  ];
}

function blindSpots(executions: Execution[]): string[] {
  const spots = blindSpotsOf(executions).map((spot) => `- ${cell(spot)}`);
  return spots.length === 0 ? [] : ["", "## What these races cannot see", "", ...spots];
}

function cell(text: string): string {
  return visibleLine(text).replaceAll(/[\\|<>&`*_[\]]/g, (char) => `\\${char}`);
}
