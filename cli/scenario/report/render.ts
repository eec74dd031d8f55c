import type { Io } from "../../io.ts";
import { paint, print } from "../../terminal/output.ts";
import { safeLine, visibleJson, visibleLine } from "../../terminal/visible.ts";
import { NO_DRIVER } from "../execute/schedule.ts";
import type { Execution, Scenario } from "../schema.ts";
import type { RunResult, Summary } from "../summary.ts";
import { briefOf } from "./brief.ts";
import { causesOf, foundIn } from "./findings.ts";
import { blindSpotsOf, extentOf, matrixLines, raceLines } from "./lines.ts";
import { markdownOf } from "./markdown.ts";

/** The formats of `--output`. */
export const FORMATS = ["json", "text", "markdown", "brief"] as const;
export type Format = typeof FORMATS[number];

/** Shows each result of a run as it arrives, and the summary at the end. */
export interface Renderer {
  onResult: (execution: Execution, scenario: Scenario) => void;
  end: (result: RunResult) => void;
}

const TEXTS = {
  json: (result: RunResult) => visibleJson(result, 0),
  markdown: markdownOf,
  brief: briefOf,
};

/** A renderer that writes data to stdout and everything else to stderr. */
export function createRenderer(
  format: Format,
  io: Io,
  { target, verbose = false }: { target: string | null; verbose?: boolean },
): Renderer {
  if (format === "text") return createTextRenderer(io, target, verbose);
  const textOf = TEXTS[format];
  return {
    onResult: () => {},
    end: (result) => {
      io.stdout.write(`${textOf(result)}\n`);
      if (result.summary.note) io.stderr.write(`${safeLine(result.summary.note)}\n`);
      const left = leftOut(result);
      if (left !== null) io.stderr.write(`${safeLine(left)}\n`);
    },
  };
}

const MARKS = {
  passed: ["✓", "green"],
  failed: ["✗", "red"],
  skipped: ["–", "dim"],
  inconclusive: ["?", "yellow"],
} as const;

/** True for a result that says nothing: a pass, or what is counted or explained at the end. */
function isQuiet({ status, reason, evidence }: Execution): boolean {
  return status === "passed" || status === "inconclusive" ||
    evidence.after_damage_by !== undefined ||
    (status === "skipped" && reason.endsWith(NO_DRIVER));
}

/** How many scenarios need a driver that was not asked for, in words; null without any. */
function leftOut({ executions }: RunResult): string | null {
  const { length } = executions.filter(({ reason }) => reason.endsWith(NO_DRIVER));
  if (length === 0) return null;
  const [what, were] = length === 1 ? ["scenario needs", "was"] : ["scenarios need", "were"];
  return `${length} ${what} several requests or a model, and ${were} not run: add --driver playbook`;
}

/** Lines for a person: each result as it arrives, then the failures and how to repeat them. */
function createTextRenderer(io: Io, target: string | null, verbose: boolean): Renderer {
  return {
    onResult: (execution, scenario) => {
      if (!verbose && isQuiet(execution)) return;
      const [mark, colour] = MARKS[execution.status];
      const words = `${execution.scenario_id}  ${visibleLine(scenario.title)}`;
      const reason = visibleLine(execution.reason);
      print(io, `${paint(io, colour, mark)} ${words}  ${paint(io, "dim", reason)}`);
      for (const line of raceLines(execution)) {
        print(io, paint(io, "dim", `    ${visibleLine(line)}`));
      }
    },
    end: (result) => {
      if (target === null) printScenarios(io, result);
      printFindings(io, result);
      printUntested(io, result.summary);
      printUnproven(io, result, verbose);
      printBlindSpots(io, result);
      printAreas(io, result.summary);
      print(io, summaryLine(result));
      if (result.summary.note) print(io, paint(io, "yellow", result.summary.note));
      const left = leftOut(result);
      if (left !== null) print(io, left);
    },
  };
}

/** Prints the scenarios themselves, when nothing was executed. */
function printScenarios(io: Io, { scenarios, summary }: RunResult): void {
  for (const { scenario_id, priority, confidence_area, title } of scenarios) {
    const words = `${visibleLine(confidence_area)}  ${visibleLine(title)}`;
    print(io, `${scenario_id}  ${priority.padEnd(8)}  ${words}`);
  }
  if (summary.coverage) ["", ...matrixLines(summary.coverage)].forEach((line) => print(io, line));
}

function printFindings(io: Io, result: RunResult): void {
  for (const finding of foundIn(result)) {
    const { scenario_id, severity, title, cwe, also, answer, repeat } = finding;
    const head = `${scenario_id} ${severity}: ${visibleLine(title)}${cwe ? ` (${cwe})` : ""}`;
    print(io, `\n${paint(io, "red", head)}`);
    print(io, `  expected  ${visibleLine(finding.expected)}`);
    print(io, `  happened  ${visibleLine(finding.happened)}`);
    if (answer !== null) print(io, `  answer    ${visibleLine(answer)}`);
    if (also.length > 0) {
      print(io, `  also      ${also.slice(0, 10).join(", ")}${moreThan(also, 10)}`);
    }
    if (repeat !== null) print(io, `  repeat    ${visibleLine(repeat)}`);
  }
}

function moreThan(list: readonly unknown[], shown: number): string {
  return list.length > shown ? ` and ${list.length - shown} more` : "";
}

function printUntested(io: Io, { untested }: Summary): void {
  if (untested.length > 0) print(io, "\nNot tested:");
  for (const { reason } of untested) print(io, `  ${visibleLine(reason)}`);
}

/** The most reasons that are named. */
const REASONS = 8;

/** Why scenarios proved nothing, the most frequent reason first. */
function printUnproven(io: Io, { executions }: RunResult, verbose: boolean): void {
  const groups = new Map<string, Execution[]>();
  for (const one of executions) {
    if (one.status !== "inconclusive" || NAMED_ABOVE.test(one.reason)) continue;
    // The same reason names another request each time.
    const reason = one.reason.replaceAll(/"[^"]*"( \(r\d+\))?/g, "a request");
    groups.set(reason, [...(groups.get(reason) ?? []), one]);
  }
  const sorted = [...groups.values()].sort((a, b) => b.length - a.length);
  if (sorted.length === 0) return;
  print(io, "\nProved nothing:");
  for (const [first, ...others] of sorted.slice(0, REASONS)) {
    const { reason, scenario_id } = first!;
    const more = others.length === 0 ? "" : ` and ${others.length} more`;
    print(io, `  ${scenario_id}${more}  ${visibleLine(reason)}`);
  }
  const left = sorted.length - REASONS;
  const words = left > 0 ? `  … for ${left} other ${left === 1 ? "reason" : "reasons"}` : "";
  if (!verbose) print(io, `${words === "" ? "  " : `${words}; `}--verbose names each scenario`);
  else if (words !== "") print(io, words);
}

/** The operations that never succeeded are named under "Not tested". */
const NAMED_ABOVE = /never succeeded$/;

function printBlindSpots(io: Io, { executions }: RunResult): void {
  const spots = blindSpotsOf(executions);
  if (spots.length > 0) print(io, "\nWhat these races cannot see:");
  for (const spot of spots) print(io, `  ${visibleLine(spot)}`);
}

function printAreas(io: Io, { areas, coverage, target }: Summary): void {
  if (areas.length > 0) print(io, "");
  for (const { area, passed, failed, low, high } of areas) {
    const bounds = `${Math.round(low * 100)}–${Math.round(high * 100)} %`;
    print(
      io,
      `${visibleLine(area)}: ${passed} of ${
        passed + failed
      } passed (true rate ${bounds}, with 95 % confidence)`,
    );
  }
  if (coverage && target !== null) {
    print(io, extentOf(coverage.operations, coverage.families));
  }
}

function summaryLine(result: RunResult): string {
  const { summary } = result;
  const { scenarios, executed, passed, failed, skipped, inconclusive, duration_ms } = summary;
  const accepted = summary.accepted > 0 ? ` (${summary.accepted} accepted)` : "";
  const causes = causesOf(result) ?? "";
  const what = scenarios === 1 ? "1 scenario" : `${scenarios} scenarios`;
  return `\n${what}: ${executed} executed, ${passed} passed, ${failed} failed${causes}${accepted}, ` +
    `${skipped} skipped, ${inconclusive} inconclusive, in ${duration_ms} ms`;
}
