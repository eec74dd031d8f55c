import { paint, print } from "../../terminal/output.ts";
import { visibleLine } from "../../terminal/visible.ts";
import type { ScenarioIo } from "../io.ts";
import type { Scenario } from "../schema.ts";
import type { RunResult, Summary } from "../summary.ts";
import { curlOf } from "./curl.ts";
import { blindSpotsOf, raceLines } from "./races.ts";
import { matrixLines } from "./matrix.ts";
import type { Renderer } from "./render.ts";

const MARKS = {
  passed: ["✓", "green"],
  failed: ["✗", "red"],
  skipped: ["–", "dim"],
  inconclusive: ["?", "yellow"],
} as const;

/** Lines for a person: each result as it comes, then the failures with how to repeat them. */
export function createTextRenderer(io: ScenarioIo, target: string | null): Renderer {
  return {
    onResult: (execution, scenario) => {
      const [mark, colour] = MARKS[execution.status];
      const words = `${execution.scenario_id}  ${visibleLine(scenario.title)}`;
      const reason = visibleLine(execution.reason);
      print(io, `${paint(io, colour, mark)} ${words}  ${paint(io, "dim", reason)}`);
      raceLines(execution).forEach((line) =>
        print(io, paint(io, "dim", `    ${visibleLine(line)}`))
      );
    },
    end: (result) => {
      if (target === null) printScenarios(io, result);
      printFailures(io, result, target);
      printBlindSpots(io, result);
      printAreas(io, result.summary);
      print(io, summaryLine(result.summary));
      if (result.summary.note) print(io, paint(io, "yellow", result.summary.note));
    },
  };
}

/** Nothing was sent, so what could be sent is what there is to see. */
function printScenarios(io: ScenarioIo, { scenarios, summary }: RunResult): void {
  scenarios.forEach((scenario) => print(io, lineOf(scenario)));
  if (summary.coverage) ["", ...matrixLines(summary.coverage)].forEach((line) => print(io, line));
}

function printFailures(io: ScenarioIo, result: RunResult, target: string | null): void {
  const byId = new Map(result.scenarios.map((scenario) => [scenario.scenario_id, scenario]));
  for (const execution of result.executions.filter(({ status }) => status === "failed")) {
    const scenario = byId.get(execution.scenario_id)!;
    const head = `${execution.scenario_id} ${scenario.priority}: ${visibleLine(scenario.title)}`;
    print(io, `\n${paint(io, "red", head)}`);
    print(io, `  expected  ${visibleLine(scenario.expected_behavior)}`);
    print(io, `  happened  ${visibleLine(execution.reason)}`);
    const curl = target === null ? null : curlOf(scenario, target);
    if (curl) print(io, `  repeat    ${visibleLine(curl)}`);
  }
}

function printBlindSpots(io: ScenarioIo, { executions }: RunResult): void {
  const spots = blindSpotsOf(executions);
  if (spots.length > 0) print(io, "\nWhat these races cannot see:");
  for (const spot of spots) print(io, `  ${visibleLine(spot)}`);
}

function printAreas(io: ScenarioIo, { areas, coverage, target }: Summary): void {
  if (areas.length > 0) print(io, "");
  for (const { area, passed, failed, low, high } of areas) {
    const bounds = `${Math.round(low * 100)}–${Math.round(high * 100)} %`;
    print(io, `${visibleLine(area)}: ${passed} of ${passed + failed} passed (95 %: ${bounds})`);
  }
  if (coverage && target !== null) {
    print(io, `${coverage.operations} operations × ${coverage.families} families`);
  }
}

function lineOf(scenario: Scenario): string {
  const { scenario_id, priority, confidence_area, title } = scenario;
  return `${scenario_id}  ${priority.padEnd(8)}  ${visibleLine(confidence_area)}  ${
    visibleLine(title)
  }`;
}

function summaryLine(summary: Summary): string {
  const { scenarios, executed, passed, failed, skipped, inconclusive, duration_ms } = summary;
  const accepted = summary.accepted > 0 ? ` (${summary.accepted} accepted)` : "";
  return `\n${scenarios} scenarios: ${executed} executed, ${passed} passed, ${failed} failed${accepted}, ` +
    `${skipped} skipped, ${inconclusive} inconclusive, in ${duration_ms} ms`;
}
