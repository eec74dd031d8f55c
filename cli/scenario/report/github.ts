import { visibleText } from "../../terminal/visible.ts";
import type { RunResult } from "../summary.ts";
import { markdownOf } from "./markdown.ts";

/** GitHub shows so many annotations of each kind for one step; the rest would be lost silently. */
const SHOWN = 10;
/** A larger step summary is dropped whole. */
const SUMMARY_BYTES = 1_000_000;
const ORDER = ["critical", "high", "medium", "low"] as const;

/** Workflow commands: errors for critical and high failures, warnings for the rest. */
export function annotationsOf({ scenarios, executions }: RunResult): string {
  const byId = new Map(scenarios.map((scenario) => [scenario.scenario_id, scenario]));
  const failed = executions.filter(({ status }) => status === "failed")
    .map((execution) => ({ execution, scenario: byId.get(execution.scenario_id)! }))
    .sort((a, b) => ORDER.indexOf(a.scenario.priority) - ORDER.indexOf(b.scenario.priority));
  const lines = (["error", "warning"] as const).flatMap((kind) => {
    const own = failed.filter(({ scenario }) => kindOf(scenario.priority) === kind);
    const shown = own.slice(0, own.length > SHOWN ? SHOWN - 1 : SHOWN).map(
      ({ execution, scenario }) => {
        const place = scenario.source
          ? `file=${property(String(scenario.source))},line=${scenario.line ?? 1},`
          : "";
        const title = property(`${scenario.scenario_id} ${scenario.title}`);
        return `::${kind} ${place}title=${title}::${message(execution.reason)}`;
      },
    );
    const left = own.length - shown.length;
    return left > 0 ? [...shown, `::${kind} title=${left} more::see the step summary`] : shown;
  });
  return lines.map((line) => `${line}\n`).join("");
}

/** The Markdown report, cut where GitHub would drop all of it. */
export function stepSummaryOf(result: RunResult): string {
  const text = `${markdownOf(result)}\n`;
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= SUMMARY_BYTES) return text;
  const kept = new TextDecoder().decode(bytes.subarray(0, SUMMARY_BYTES));
  return `${
    kept.slice(0, kept.lastIndexOf("\n## "))
  }\n\n… cut: the whole report has ${bytes.length} bytes\n`;
}

function kindOf(priority: string): "error" | "warning" {
  return priority === "critical" || priority === "high" ? "error" : "warning";
}

function message(text: string): string {
  return visibleText(
    text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A"),
  );
}

function property(text: string): string {
  return message(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}
