import type { Execution, Finding, Scenario } from "../schema.ts";
import type { RunResult } from "../summary.ts";
import { foundIn } from "./findings.ts";

/** The findings of a run, by the scenario that shows each, and the first scenario of the others. */
interface Causes {
  findings: Map<string, Finding>;
  same: Map<string, string>;
}

/**
 * JUnit XML: a suite for each confidence area, a case for each scenario. A cause fails one case;
 * others that fail for it, and accepted failures, are skipped with the reason.
 */
export function junitOf(result: RunResult, context: { started_at: number }): string {
  const { scenarios, executions, summary } = result;
  const areas = [...new Set(scenarios.map(({ confidence_area }) => confidence_area))].sort();
  const byId = new Map(executions.map((execution) => [execution.scenario_id, execution]));
  const at = new Date(context.started_at).toISOString();
  const found = foundIn(result);
  const causes: Causes = {
    findings: new Map(found.map((one) => [one.scenario_id, one])),
    same: new Map(found.flatMap((one) => one.also.map((id) => [id, one.scenario_id] as const))),
  };
  const suites = areas.map((area) =>
    suite(scenarios.filter((one) => one.confidence_area === area), byId, { area, at, causes })
  );
  const skipped = scenarios.length - summary.passed - found.length;
  return `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="scenario-tool" tests="${scenarios.length}" failures="${found.length}" errors="0" skipped="${skipped}" time="${
    seconds(summary.duration_ms)
  }">
${suites.join("\n")}
</testsuites>
`;
}

function suite(
  scenarios: Scenario[],
  byId: Map<string, Execution>,
  { area, at, causes }: { area: string; at: string; causes: Causes },
): string {
  const ran = scenarios.map((scenario) => byId.get(scenario.scenario_id));
  const failures = scenarios.filter(({ scenario_id }) => causes.findings.has(scenario_id)).length;
  const passed = ran.filter((one) => one?.status === "passed").length;
  const skipped = scenarios.length - failures - passed;
  const time = seconds(ran.reduce((sum, one) => sum + (one?.duration_ms ?? 0), 0));
  const cases = scenarios.map((scenario, n) => testcase(scenario, ran[n], causes));
  return `  <testsuite name="${
    attribute(area)
  }" tests="${scenarios.length}" failures="${failures}" errors="0" skipped="${skipped}" time="${time}" timestamp="${at}">
${cases.join("\n")}
  </testsuite>`;
}

function testcase(
  scenario: Scenario,
  execution: Execution | undefined,
  causes: Causes,
): string {
  const name = attribute(`${scenario.scenario_id} ${scenario.title}`);
  const open = `    <testcase classname="${
    attribute(scenario.confidence_area)
  }" name="${name}" time="${seconds(execution?.duration_ms ?? 0)}">`;
  const properties =
    `<properties><property name="priority" value="${scenario.priority}"/></properties>`;
  return `${open}${properties}${outcome(execution, causes)}</testcase>`;
}

function outcome(execution: Execution | undefined, { findings, same }: Causes): string {
  if (execution?.status === "passed") return "";
  const finding = execution && findings.get(execution.scenario_id);
  if (finding) {
    const { title, happened, severity, expected, cwe, answer, repeat } = finding;
    const lines = [
      `Finding: ${title}${cwe ? ` (${cwe})` : ""}`,
      `Expected: ${expected}`,
      ...(answer === null ? [] : [`Answer: ${answer}`]),
      ...(repeat === null ? [] : [`Repeat: ${repeat}`]),
    ];
    return `<failure message="${attribute(happened)}" type="${severity}">` +
      `${text(lines.join("\n"))}</failure>`;
  }
  if (execution?.status === "failed") {
    const first = same.get(execution.scenario_id);
    const why = first === undefined
      ? "Accepted by the baseline"
      : `Failed for the same cause as ${first}`;
    return `<skipped message="${attribute(`${why}: ${execution.reason}`)}"/>`;
  }
  return `<skipped message="${attribute(execution?.reason ?? "Not executed: no --target")}"/>`;
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(3);
}

/** XML 1.0 cannot express these characters, which are frequent in payloads. */
// deno-lint-ignore no-control-regex
const ILLEGAL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/gu;

/** XML may contain these characters, but a terminal would act on them. */
const TERMINAL = /[\u007f-\u0084\u0086-\u009f\u202a-\u202e\u2066-\u2069]/g;

function text(value: string): string {
  return value.replaceAll(ILLEGAL, "\uFFFD").replaceAll(TERMINAL, "\uFFFD")
    .replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function attribute(value: string): string {
  return text(value).replaceAll('"', "&quot;")
    .replaceAll(/[\t\n\r]/g, (char) => `&#${char.charCodeAt(0)};`);
}
