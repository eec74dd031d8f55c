import { createHash } from "node:crypto";
import { visibleJson } from "../../terminal/visible.ts";
import type { Execution, Scenario } from "../schema.ts";
import type { RunResult } from "../summary.ts";

/** Code-scanning services refuse more results than this in one file. */
const RESULTS = 5_000;
const LEVEL = { critical: "error", high: "error", medium: "warning", low: "note" } as const;

/** SARIF 2.1.0: one rule a family, one result a failure, located in the document it came from. */
export function render({ scenarios, executions }: RunResult): string {
  const byId = new Map(scenarios.map((scenario) => [scenario.scenario_id, scenario]));
  const failures = executions.filter(({ status }) => status === "failed").slice(0, RESULTS);
  const rules = [...new Set(failures.map((one) => familyOf(byId.get(one.scenario_id)!)))].sort();
  const results = failures.map((one) => resultOf(one, byId.get(one.scenario_id)!));
  const driver = {
    name: "scenario-tool",
    rules: rules.map((id) => ({ id, shortDescription: { text: id.replaceAll("_", " ") } })),
  };
  const log = {
    $schema: "https://json.schemastore.org/sarif-2.1.0.json",
    version: "2.1.0",
    runs: [{ tool: { driver }, results }],
  };
  return `${visibleJson(log, 2)}\n`;
}

function resultOf(execution: Execution, scenario: Scenario) {
  const ruleId = familyOf(scenario);
  const subject = `${ruleId} ${scenario.operation ?? scenario.title}`;
  return {
    ruleId,
    level: LEVEL[scenario.priority],
    message: { text: `${scenario.scenario_id} ${scenario.title}: ${execution.reason}` },
    locations: [{
      physicalLocation: {
        artifactLocation: { uri: encodeURI(String(scenario.source ?? "scenarios.json")) },
        region: { startLine: lineOf(scenario) },
      },
    }],
    // The id may move when a document grows; what the scenario is about does not.
    partialFingerprints: {
      "scenario/v1": createHash("sha256").update(subject).digest("hex").slice(0, 32),
    },
    properties: { priority: scenario.priority, area: scenario.confidence_area },
  };
}

/** Scenarios of other tools may have a line of their own meaning. */
function lineOf({ line }: Scenario): number {
  return Number.isSafeInteger(line) && Number(line) > 0 ? Number(line) : 1;
}

function familyOf(scenario: Scenario): string {
  return typeof scenario.family === "string" ? scenario.family : "scenario";
}
