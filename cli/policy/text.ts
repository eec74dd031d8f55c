import type { ScoreCard } from "../../server/policy/bench.ts";
import type { PolicyTestResult } from "../../server/policy/schema.ts";
import type { Io } from "../io.ts";
import { paint, table } from "../terminal/output.ts";
import { visibleLine } from "../terminal/visible.ts";

const COLOURS = { allow: "green", ask: "yellow", deny: "red" } as const;

/** So many rules beside the winner are worth a line each. */
const SHOWN = 8;

/** Why a question was answered as it was: the command with the part that decided underlined. */
export function explain(io: Io, command: string | null, result: PolicyTestResult): string {
  const { effect, reason, rule, alternative, matched, analysis, grant_id } = result;
  const lines = [`${paint(io, COLOURS[effect], effect)}: ${visibleLine(reason)}`];
  if (command !== null) {
    lines.push("", ...underline(command, result.span ?? analysis?.unresolved[0]));
  }
  lines.push("");
  const none = grant_id === undefined ? "none; the default holds" : `none; grant ${grant_id} holds`;
  lines.push(`rule     ${rule ? ruleText(rule) : none}`);
  if (alternative) lines.push(`instead  ${visibleLine(alternative)}`);
  const others = matched.slice(1);
  for (const other of others.slice(0, SHOWN)) lines.push(`also     ${ruleText(other)}`);
  if (others.length > SHOWN) lines.push(`also     … ${others.length - SHOWN} more (--json)`);
  for (const argv of analysis?.commands ?? []) {
    lines.push(`runs     ${visibleLine(argv.join(" "))}`);
  }
  for (const kind of ["reads", "writes", "deletes", "unresolved"] as const) {
    for (const one of analysis?.[kind] ?? []) lines.push(`${kind.padEnd(8)} ${visibleLine(one)}`);
  }
  return lines.join("\n");
}

/** The score card: both rates, then every category that is not perfect, then what went wrong. */
export function scoreCard(card: ScoreCard): string {
  const percent = (rate: number) => `${(rate * 100).toFixed(1)} %`;
  const { stop, allow, categories, wrong } = card;
  const rows = categories.map(({ category, cases, right }) => [
    category,
    `${right}/${cases}`,
    percent(cases === 0 ? 1 : right / cases),
  ]);
  return [
    `stopped       ${stop.stopped} of ${stop.cases}  ${percent(stop.rate)}`,
    `false alarms  ${allow.false_alarms} of ${allow.cases}  ${percent(allow.rate)}`,
    "",
    table([["CATEGORY", "RIGHT", "RATE"], ...rows]),
    ...wrong.map((one) =>
      `\n${one.id} ${one.category}: ${one.effect} instead of ${one.expect}\n  ${
        visibleLine(one.command)
      }`
    ),
  ].join("\n");
}

/** A command on one line, and under it a line that marks the part. */
function underline(command: string, span: string | undefined): string[] {
  const shown = visibleLine(command);
  const part = span === undefined ? "" : visibleLine(span);
  const at = part === "" ? -1 : shown.indexOf(part);
  return at === -1
    ? [`  ${shown}`]
    : [`  ${shown}`, `  ${" ".repeat(at)}${"^".repeat(part.length)}`];
}

function ruleText({ pattern, source, list }: NonNullable<PolicyTestResult["rule"]>): string {
  return `${visibleLine(pattern)}  (${source} ${list})`;
}
