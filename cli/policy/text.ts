import type { ScoreCard } from "../../server/policy/bench.ts";
import { describeSandbox } from "../../server/actions/show/sandbox_text.ts";
import type { PolicyTestResult } from "../../server/policy/schema.ts";
import type { RiskCard } from "../../server/risk/bench.ts";
import { RiskLevel } from "../../server/risk/schema.ts";
import { reasonOf } from "../../server/policy/templates.ts";
import type { Io } from "../io.ts";
import { paint, table } from "../terminal/output.ts";
import { visibleLine } from "../terminal/visible.ts";
import { commandText } from "../../server/shown/command_text.ts";

const COLOURS = { allow: "green", ask: "yellow", deny: "red" } as const;

/** The most rules shown besides the winner. */
const SHOWN = 8;

/** Explains a decision: the command with the deciding part underlined, the rules, the effects. */
export function explain(io: Io, command: string | null, result: PolicyTestResult): string {
  const { effect, rule, alternative, matched, analysis, grant_id } = result;
  const lines = [headline(io, result)];
  if (command !== null) {
    lines.push("", ...underline(command, result.span ?? analysis?.unresolved[0]));
  }
  lines.push("");
  const none = grant_id === undefined
    ? "none; the default applies"
    : `none; grant ${grant_id} applies`;
  lines.push(...sandboxLines(result));
  lines.push(`rule     ${rule ? ruleText(rule) : none}`);
  const why = rule && reasonOf(rule);
  if (why) lines.push(`why      ${why}`);
  if (alternative) lines.push(`instead  ${visibleLine(alternative)}`);
  const others = matched.slice(1).filter((other) => mattersTo(other, effect));
  for (const other of others.slice(0, SHOWN)) lines.push(`also     ${ruleText(other)}`);
  if (others.length > SHOWN) lines.push(`also     … ${others.length - SHOWN} more (--json)`);
  for (const argv of analysis?.commands ?? []) {
    lines.push(`runs     ${visibleLine(commandText(argv))}`);
  }
  for (const kind of ["reads", "writes", "deletes", "unresolved"] as const) {
    for (const one of analysis?.[kind] ?? []) lines.push(`${kind.padEnd(8)} ${visibleLine(one)}`);
  }
  return lines.join("\n");
}

/** The decision in a few lines: the effect and its reason, the rule, the programs. */
export function describe(io: Io, result: PolicyTestResult): string {
  const { rule, alternative, analysis } = result;
  return [
    headline(io, result),
    ...sandboxLines(result).map((line) => `  ${line}`),
    ...(rule ? [`  rule     ${ruleText(rule)}`] : []),
    ...(alternative ? [`  instead  ${visibleLine(alternative)}`] : []),
    ...(analysis?.commands ?? []).map((argv) => `  runs     ${visibleLine(commandText(argv))}`),
  ].join("\n");
}

/** Where the decision holds, or why the sandbox does not make it. */
function sandboxLines({ effect, sandbox, sandbox_refused }: PolicyTestResult): string[] {
  const before = effect === "ask" ? "even after an approval: " : "";
  return [
    ...sandbox ? [`sandbox  ${before}${visibleLine(describeSandbox(sandbox))}`] : [],
    ...sandbox_refused === null ? [] : [`sandbox  no answer: ${visibleLine(sandbox_refused)}`],
  ];
}

function headline(io: Io, { effect, reason, sandbox }: PolicyTestResult): string {
  const where = effect === "allow" && sandbox ? " in the sandbox" : "";
  return `${paint(io, COLOURS[effect], effect)}${where}: ${visibleLine(reason)}`;
}

/** The score card as text: both rates, the questions, the categories, the wrong decisions. */
export function scoreCard(card: ScoreCard): string {
  const percent = (rate: number) => `${(rate * 100).toFixed(1)} %`;
  const { stop, allow, questions, categories, wrong } = card;
  const rows = categories.map(({ category, cases, right }) => [
    category,
    `${right}/${cases}`,
    percent(cases === 0 ? 1 : right / cases),
  ]);
  return [
    `stopped       ${stop.stopped} of ${stop.cases}  ${percent(stop.rate)}`,
    `false alarms  ${allow.false_alarms} of ${allow.cases}  ${percent(allow.rate)}`,
    ...questions.flatMap(({ policy, commands, asked, denied, per_hundred, sandbox }) => {
      const line = (count: number, rate: number) =>
        `${count} of ${commands}  ${rate.toFixed(1)} per hundred commands`;
      return [
        `questions     ${line(asked, per_hundred)}  ${denied} denied  (${visibleLine(policy)})`,
        `  in a sandbox  ${line(sandbox.asked, sandbox.per_hundred)}`,
      ];
    }),
    "",
    table([["CATEGORY", "RIGHT", "RATE"], ...rows]),
    ...wrong.map((one) =>
      `\n${one.id} ${one.category}: ${one.effect} instead of ${one.expect}\n  ${
        visibleLine(one.command)
      }`
    ),
  ].join("\n");
}

/** The score card of a risk table: agreement, the levels, the classes, the wrong scores. */
export function riskCard({ cases, right, rate, near, missed, levels, classes, wrong }: RiskCard) {
  const percent = (share: number) => `${(share * 100).toFixed(1)} %`;
  const names = RiskLevel.options;
  return [
    `agrees        ${right} of ${cases}  ${percent(rate)}`,
    `one level off ${near}`,
    `missed        ${missed} labelled high or critical that score low`,
    "",
    table([
      ["LABEL", ...names.map((name) => name.toUpperCase())],
      ...names.map((label) => [label, ...names.map((level) => String(levels[label][level]))]),
    ]),
    "",
    table([
      ["CLASS", "RIGHT", "RATE"],
      ...classes.map((one) => [
        visibleLine(one.class),
        `${one.right}/${one.cases}`,
        percent(one.right / one.cases),
      ]),
    ]),
    ...wrong.map(({ id, what, label, risk }) =>
      `\n${visibleLine(id)}: ${risk.level} ${risk.score} instead of ${label}\n  ${
        visibleLine(what.slice(0, 300))
      }\n  ${risk.factors.map(({ name, weight }) => `${name} ${weight}`).join(", ") || "no factor"}`
    ),
  ].join("\n");
}

/** The command on one line, and a second line that underlines the part. */
function underline(command: string, span: string | undefined): string[] {
  const shown = visibleLine(command);
  const part = span === undefined ? "" : visibleLine(span);
  const at = part === "" ? -1 : shown.indexOf(part);
  return at === -1
    ? [`  ${shown}`]
    : [`  ${shown}`, `  ${" ".repeat(at)}${"^".repeat(part.length)}`];
}

/** Whether a rule could have led to this effect too: a rule that allows explains no other effect. */
function mattersTo({ list }: NonNullable<PolicyTestResult["rule"]>, effect: string): boolean {
  return effect === "allow" || !/^allow/.test(list);
}

function ruleText({ pattern, source, list }: NonNullable<PolicyTestResult["rule"]>): string {
  return `${visibleLine(pattern)}  (${source} ${list})`;
}
