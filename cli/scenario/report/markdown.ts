import { visibleLine } from "../../terminal/visible.ts";
import type { Execution, Finding, Scenario } from "../schema.ts";
import type { RunResult } from "../summary.ts";
import { causesOf, foundIn } from "./findings.ts";
import { blindSpotsOf, matrixLines, raceLines } from "./lines.ts";

/** A report for a pull request: the figures, then the findings with how to repeat them. */
export function markdownOf(result: RunResult): string {
  const { scenarios, executions, summary } = result;
  const causes = causesOf(result);
  const lines = [
    "# Scenarios",
    "",
    "| scenarios | executed | passed | failed | skipped | inconclusive |",
    "|---|---|---|---|---|---|",
    `| ${summary.scenarios} | ${summary.executed} | ${summary.passed} | ${summary.failed} | ` +
    `${summary.skipped} | ${summary.inconclusive} |`,
    ...(causes === null ? [] : ["", `${summary.failed} failed${causes}.`]),
    ...(summary.note ? ["", `> ${summary.note}`] : []),
    ...(summary.untested.length === 0
      ? []
      : ["", "## Not tested", "", ...summary.untested.map(({ reason }) => `- ${cell(reason)}`)]),
    ...(executions.length === 0 ? ["", ...scenarioTable(scenarios)] : []),
    ...foundIn(result).flatMap((one) => section(one, executions)),
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

/** The most other scenarios that are named. */
const ALSO = 10;

function section(finding: Finding, executions: Execution[]): string[] {
  const { scenario_id, severity, title, cwe, also, answer, repeat } = finding;
  const execution = executions.find((one) => one.scenario_id === scenario_id)!;
  const more = also.length > ALSO ? ` and ${also.length - ALSO} more` : "";
  return [
    "",
    `## ${scenario_id} (${severity}) ${cell(title)}${cwe ? ` (${cwe})` : ""}`,
    "",
    `- Expected: ${cell(finding.expected)}`,
    `- Happened: ${cell(finding.happened)}`,
    ...(answer === null ? [] : [`- Answer: ${cell(answer)}`]),
    ...(also.length === 0 ? [] : [`- Also: ${also.slice(0, ALSO).join(", ")}${more}`]),
    ...raceLines(execution).map((line) => `- Race: ${cell(line)}`),
    ...(repeat ? ["", "```sh", visibleLine(repeat).replaceAll("```", "` ` `"), "```"] : []),
  ];
}

function blindSpots(executions: Execution[]): string[] {
  const spots = blindSpotsOf(executions).map((spot) => `- ${cell(spot)}`);
  return spots.length === 0 ? [] : ["", "## What these races cannot see", "", ...spots];
}

function cell(text: string): string {
  return visibleLine(text).replaceAll(/[\\|<>&`*_[\]]/g, (char) => `\\${char}`);
}
