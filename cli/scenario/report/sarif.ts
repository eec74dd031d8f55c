import { createHash } from "node:crypto";
import { visibleJson } from "../../terminal/visible.ts";
import type { Execution, Scenario } from "../schema.ts";
import { failuresOf, type RunResult } from "../summary.ts";

/** Code-scanning services reject a file with more results. */
const RESULTS = 5_000;
const LEVEL = { critical: "error", high: "error", medium: "warning", low: "note" } as const;

/** SARIF 2.1.0: one rule for each family, one result for each failure, with its source line. */
export function sarifOf(result: RunResult): string {
  const failures = failuresOf(result).slice(0, RESULTS);
  const rules = [...new Set(failures.map(({ scenario }) => familyOf(scenario)))].sort();
  const driver = {
    name: "scenario-tool",
    rules: rules.map((id) => ({ id, shortDescription: { text: id.replaceAll("_", " ") } })),
  };
  const log = {
    $schema: "https://json.schemastore.org/sarif-2.1.0.json",
    version: "2.1.0",
    runs: [{ tool: { driver }, results: failures.map(resultOf) }],
  };
  return `${visibleJson(log, 2)}\n`;
}

function resultOf({ execution, scenario }: { execution: Execution; scenario: Scenario }) {
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
    // Unlike the id, the subject stays the same when the document grows.
    partialFingerprints: {
      "scenario/v1": createHash("sha256").update(subject).digest("hex").slice(0, 32),
    },
    properties: { priority: scenario.priority, area: scenario.confidence_area },
  };
}

/** In scenarios of other tools `line` may mean something else. */
function lineOf({ line }: Scenario): number {
  return Number.isSafeInteger(line) && Number(line) > 0 ? Number(line) : 1;
}

function familyOf(scenario: Scenario): string {
  return typeof scenario.family === "string" ? scenario.family : "scenario";
}
