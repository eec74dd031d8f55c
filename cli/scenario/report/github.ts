import { visibleText } from "../../terminal/visible.ts";
import type { RunResult } from "../summary.ts";
import { foundIn } from "./findings.ts";
import { markdownOf } from "./markdown.ts";

/** GitHub shows this many annotations of each kind for one step and drops the rest silently. */
const SHOWN = 10;
/** GitHub drops a larger step summary completely. */
const SUMMARY_BYTES = 1_000_000;

/** Workflow commands: errors for critical and high findings, warnings for the rest. */
export function annotationsOf(result: RunResult): string {
  const found = foundIn(result);
  const byId = new Map(result.scenarios.map((one) => [one.scenario_id, one]));
  const lines = (["error", "warning"] as const).flatMap((kind) => {
    const own = found.filter(({ severity }) => kindOf(severity) === kind);
    const shown = own.slice(0, own.length > SHOWN ? SHOWN - 1 : SHOWN).map((finding) => {
      const { source, line } = byId.get(finding.scenario_id)!;
      const place = isFile(source) ? `file=${property(source)},line=${line ?? 1},` : "";
      const title = property(`${finding.scenario_id} ${finding.title}`);
      return `::${kind} ${place}title=${title}::${message(finding.happened)}`;
    });
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

/** GitHub shows an annotation beside a line of the repository; a document of the target is none. */
function isFile(source: unknown): source is string {
  return typeof source === "string" && !/^https?:\/\//i.test(source);
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
