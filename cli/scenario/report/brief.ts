import { visibleJson } from "../../terminal/visible.ts";
import type { Finding } from "../schema.ts";
import type { RunResult } from "../summary.ts";
import { foundIn } from "./findings.ts";

/** Limits for a short answer. */
const FINDINGS = 20;
const CHARS = 300;

/** One line of JSON: the figures and the most serious findings with how to repeat them. */
export function briefOf(result: RunResult): string {
  const { summary, exit_code } = result;
  const { coverage, areas: _areas, ...figures } = summary;
  const findings = foundIn(result);
  return visibleJson({
    summary: {
      ...figures,
      operations: coverage?.operations ?? 0,
      families: coverage?.families ?? 0,
      findings: findings.length,
    },
    failures: findings.slice(0, FINDINGS).map(shortened),
    more_failures: Math.max(0, findings.length - FINDINGS),
    exit_code,
  }, 0);
}

function shortened(
  { scenario_id, severity, title, cwe, family, operation, expected, ...finding }: Finding,
) {
  const { happened, answer, repeat, also } = finding;
  return {
    scenario_id,
    priority: severity,
    title: cut(title),
    cwe,
    family,
    operation,
    expected: cut(expected),
    happened: cut(happened),
    answer,
    also: also.length,
    repeat: repeat !== null && repeat.length <= 2 * CHARS ? repeat : null,
  };
}

function cut(text: string): string {
  return text.length > CHARS ? `${text.slice(0, CHARS)}…` : text;
}
