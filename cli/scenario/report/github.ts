import { visibleText } from "../../terminal/visible.ts";
import { byPriority } from "../schema.ts";
import { failuresOf, type RunResult } from "../summary.ts";
import { markdownOf } from "./markdown.ts";

/** GitHub shows this many annotations of each kind for one step and drops the rest silently. */
const SHOWN = 10;
/** GitHub drops a larger step summary completely. */
const SUMMARY_BYTES = 1_000_000;

/** Workflow commands: errors for critical and high failures, warnings for the rest. */
export function annotationsOf(result: RunResult): string {
  const failed = failuresOf(result).sort((a, b) => byPriority(a.scenario, b.scenario));
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

/** The Markdown report, cut to the size that GitHub accepts. */
export function stepSummaryOf(result: RunResult): string {
  const text = `${markdownOf(result)}\n`;
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= SUMMARY_BYTES) return text;
  const kept = new TextDecoder().decode(bytes.subarray(0, SUMMARY_BYTES));
  const whole = kept.slice(0, kept.lastIndexOf("\n## "));
  return `${whole}\n\n… cut: the whole report has ${bytes.length} bytes\n`;
}

function kindOf(priority: string): "error" | "warning" {
  return priority === "critical" || priority === "high" ? "error" : "warning";
}

function message(text: string): string {
  return visibleText(text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A"));
}

function property(text: string): string {
  return message(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}
