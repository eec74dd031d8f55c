import type { Execution, Scenario } from "../schema.ts";
import type { RunResult } from "../summary.ts";

/** JUnit XML: a suite for each confidence area, a case for each scenario. */
export function junitOf(result: RunResult, context: { started_at: number }): string {
  const { scenarios, executions, summary } = result;
  const areas = [...new Set(scenarios.map(({ confidence_area }) => confidence_area))].sort();
  const byId = new Map(executions.map((execution) => [execution.scenario_id, execution]));
  const at = new Date(context.started_at).toISOString();
  const suites = areas.map((area) =>
    suite(area, scenarios.filter((one) => one.confidence_area === area), byId, at)
  );
  const skipped = summary.skipped + summary.inconclusive + scenarios.length - executions.length;
  return `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="scenario-tool" tests="${scenarios.length}" failures="${summary.failed}" errors="0" skipped="${skipped}" time="${
    seconds(summary.duration_ms)
  }">
${suites.join("\n")}
</testsuites>
`;
}

function suite(
  area: string,
  scenarios: Scenario[],
  byId: Map<string, Execution>,
  at: string,
): string {
  const ran = scenarios.map((scenario) => byId.get(scenario.scenario_id));
  const failures = ran.filter((one) => one?.status === "failed").length;
  const skipped = ran.filter((one) => one?.status !== "failed" && one?.status !== "passed").length;
  const time = seconds(ran.reduce((sum, one) => sum + (one?.duration_ms ?? 0), 0));
  const cases = scenarios.map((scenario, n) => testcase(scenario, ran[n]));
  return `  <testsuite name="${
    attribute(area)
  }" tests="${scenarios.length}" failures="${failures}" errors="0" skipped="${skipped}" time="${time}" timestamp="${at}">
${cases.join("\n")}
  </testsuite>`;
}

function testcase(scenario: Scenario, execution: Execution | undefined): string {
  const name = attribute(`${scenario.scenario_id} ${scenario.title}`);
  const open = `    <testcase classname="${
    attribute(scenario.confidence_area)
  }" name="${name}" time="${seconds(execution?.duration_ms ?? 0)}">`;
  const properties =
    `<properties><property name="priority" value="${scenario.priority}"/></properties>`;
  return `${open}${properties}${outcome(scenario, execution)}</testcase>`;
}

function outcome(scenario: Scenario, execution: Execution | undefined): string {
  if (execution?.status === "passed") return "";
  if (execution?.status === "failed") {
    const evidence = text(JSON.stringify(execution.evidence));
    return `<failure message="${attribute(execution.reason)}" type="${scenario.priority}">` +
      `Expected: ${text(scenario.expected_behavior)}</failure><system-out>${evidence}</system-out>`;
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
