import { createHash } from "node:crypto";
import { visibleJson } from "../../terminal/visible.ts";
import type { Execution, Finding, Priority, Scenario } from "../schema.ts";
import { failuresOf, type RunResult } from "../summary.ts";
import { foundIn } from "./findings.ts";

/** Code-scanning services reject a file with more results. */
const RESULTS = 5_000;
const LEVEL = { critical: "error", high: "error", medium: "warning", low: "note" } as const;
/** Code-scanning services rank by a number from 0 to 10. */
const SCORE: Record<Priority, string> = { critical: "9.5", high: "7.5", medium: "5.0", low: "2.0" };

/** SARIF 2.1.0: one rule for each family, one result for each finding, with its source line. */
export function sarifOf(result: RunResult): string {
  const byId = new Map(result.scenarios.map((one) => [one.scenario_id, one]));
  const found = foundIn(result);
  const results = [
    ...found.map((one) => resultOf(one, byId.get(one.scenario_id)!)),
    ...acceptedOf(result),
  ].slice(0, RESULTS);
  const families = [...new Set(results.map(({ ruleId }) => ruleId))].sort();
  const rules = families.map((id) => ruleOf(id, result, found));
  const driver = { name: "scenario-tool", rules };
  const log = {
    $schema: "https://json.schemastore.org/sarif-2.1.0.json",
    version: "2.1.0",
    runs: [{ tool: { driver }, results }],
  };
  return `${visibleJson(log, 2)}\n`;
}

/** A rule with the words of its first scenario. */
function ruleOf(id: string, { scenarios }: RunResult, found: Finding[]) {
  const own = found.filter(({ family }) => family === id);
  const scenario = scenarios.find((one) => familyOf(one) === id)!;
  const severity = own[0]?.severity ?? scenario.priority;
  const weaknesses = [...new Set(own.map(({ cwe }) => cwe))].filter((cwe) => cwe !== null);
  const help = [
    scenario.user_perspective,
    `Expected: ${scenario.expected_behavior}`,
    ...scenario.failure_modes.map((mode) => `Otherwise: ${mode}`),
  ];
  return {
    id,
    shortDescription: { text: id.replaceAll("_", " ") },
    fullDescription: { text: scenario.expected_behavior },
    help: { text: help.join("\n"), markdown: help.map((line) => `- ${escaped(line)}`).join("\n") },
    properties: {
      tags: [
        ...(weaknesses.length > 0 ? ["security"] : ["test"]),
        ...weaknesses.map((cwe) => `external/cwe/${cwe.toLowerCase()}`),
      ],
      ...(weaknesses.length > 0 ? { "security-severity": SCORE[severity] } : {}),
    },
  };
}

function resultOf(finding: Finding, scenario: Scenario) {
  const { scenario_id, title, happened, severity, also, answer, repeat, cwe } = finding;
  return {
    ...placeOf(scenario),
    level: LEVEL[severity],
    message: { text: `${scenario_id} ${title}: ${happened}` },
    properties: { priority: severity, area: scenario.confidence_area, cwe, also, answer, repeat },
  };
}

/** The failures that the baseline accepts, as suppressed results. */
function acceptedOf(result: RunResult) {
  const isAccepted = ({ evidence }: Execution) => evidence.accepted !== undefined;
  return failuresOf(result).filter(({ execution }) => isAccepted(execution)).map((
    { execution, scenario },
  ) => ({
    ...placeOf(scenario),
    level: LEVEL[scenario.priority],
    message: { text: `${scenario.scenario_id} ${scenario.title}: ${execution.reason}` },
    properties: { priority: scenario.priority, area: scenario.confidence_area },
    suppressions: [{ kind: "external", justification: "accepted by the baseline" }],
  }));
}

function placeOf(scenario: Scenario) {
  const ruleId = familyOf(scenario);
  const subject = `${ruleId} ${scenario.operation ?? scenario.title}`;
  return {
    ruleId,
    locations: [{
      physicalLocation: {
        artifactLocation: { uri: addressOf(scenario), uriBaseId: "%SRCROOT%" },
        region: { startLine: lineOf(scenario) },
      },
    }],
    // Unlike the id, the subject stays the same when the document grows.
    partialFingerprints: {
      "scenario/v1": createHash("sha256").update(subject).digest("hex").slice(0, 32),
    },
  };
}

/** An address relative to the repository: code scanning rejects any other. */
function addressOf({ source }: Scenario): string {
  const text = String(source ?? "scenarios.json").toWellFormed();
  const isUrl = /^https?:\/\//i.test(text) && URL.canParse(text);
  const path = isUrl ? new URL(text).pathname : encodeURI(text);
  const relative = path.replace(/^(?:[A-Za-z]:)?[/\\]+/, "").replace(/^(?:\.{1,2}\/)+/, "");
  return relative === "" ? "scenarios.json" : relative;
}

/** In scenarios of other tools `line` may mean something else. */
function lineOf({ line }: Scenario): number {
  return Number.isSafeInteger(line) && Number(line) > 0 ? Number(line) : 1;
}

function familyOf(scenario: Scenario): string {
  return typeof scenario.family === "string" ? scenario.family : "scenario";
}

function escaped(line: string): string {
  return line.replaceAll(/[\\`*_[\]<>]/g, (char) => `\\${char}`);
}
