import type { ScoreCard } from "../../server/policy/bench.ts";
import { describeSandbox } from "../../server/actions/show/sandbox_text.ts";
import { keyOf } from "../../server/policy/finding.ts";
import type { PolicyTestResult, Rule } from "../../server/policy/schema.ts";
import type { RiskCard } from "../../server/risk/bench.ts";
import { RiskLevel } from "../../server/risk/schema.ts";
import { reasonOf } from "../../server/policy/templates.ts";
import type { Io } from "../io.ts";
import { count, paint, table } from "../terminal/output.ts";
import { fitVisible, visibleLine } from "../terminal/visible.ts";
import { builtinSubject } from "../../server/shown/builtin_rules.ts";
import { commandText } from "../../server/shown/command_text.ts";

const COLOURS = { allow: "green", ask: "yellow", deny: "red" } as const;

/** The most rules shown besides the winner. */
const SHOWN = 8;

/** Whose rules decide: those of a project, or those for the folders of none. */
export type Owner = "project" | "machine";

/** Explains a decision: the command with the deciding part underlined, the rules, the effects. */
export function explain(
  io: Io,
  command: string | null,
  result: PolicyTestResult,
  owner: Owner = "project",
): string {
  const { rule, alternative, analysis, grant_id } = result;
  const lines = [headline(io, result)];
  if (command !== null) {
    lines.push("", ...underline(command, result.span ?? analysis?.unresolved[0]));
  }
  lines.push("");
  const none = grant_id === undefined
    ? "none; the default applies"
    : `none; grant ${grant_id} applies`;
  lines.push(...sandboxLines(result));
  lines.push(`rule     ${rule ? ruleText(rule, owner) : none}`);
  const why = rule && reasonOf(rule);
  if (why) lines.push(`why      ${why}`);
  if (alternative) lines.push(`instead  ${visibleLine(alternative)}`);
  const others = othersThatMatter(result);
  for (const other of others.slice(0, SHOWN)) lines.push(`also     ${ruleText(other, owner)}`);
  if (others.length > SHOWN) lines.push(`also     … ${others.length - SHOWN} more (--json)`);
  const maybe = result.unsure.filter((one) => !rule || keyOf(one) !== keyOf(rule)).length;
  if (maybe > 0) {
    lines.push(`maybe    ${count(maybe, "more rule")}: a part is not known (--json names them)`);
  }
  lines.push(...effectLines(analysis));
  return lines.join("\n");
}

/** The decision in a few lines: the effect and its reason, the rule, the programs. */
export function describe(io: Io, result: PolicyTestResult, owner: Owner = "project"): string {
  const { rule, alternative, analysis } = result;
  return [
    headline(io, result),
    ...sandboxLines(result).map((line) => `  ${line}`),
    ...(rule ? [`  rule     ${ruleText(rule, owner)}`] : []),
    ...(alternative ? [`  instead  ${visibleLine(alternative)}`] : []),
    ...effectLines(analysis).filter((line) => line.startsWith("runs")).map((line) => `  ${line}`),
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
    fitVisible(visibleLine(category), 40),
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
      `\n${visibleLine(`${one.id} ${one.category}`)}: ${one.effect} instead of ${one.expect}\n  ${
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
        fitVisible(visibleLine(one.class), 40),
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

/** What a command runs and touches; what it does with unknown names is one line. */
function effectLines(analysis: PolicyTestResult["analysis"]): string[] {
  if (!analysis) return [];
  const known = analysis.commands.filter((argv) => !isAnything(argv));
  const runs = known.map((argv) => `runs     ${visibleLine(commandText(argv))}`);
  const rest = known.length < analysis.commands.length;
  const unknown = new Set(analysis.unresolved.map((one) => one.trim()).filter(isPlainText));
  const touched = (["reads", "writes", "deletes"] as const).flatMap((kind) =>
    analysis[kind].map((one) => `${kind.padEnd(8)} ${visibleLine(one)}`)
  );
  return [
    ...runs,
    ...rest ? ["runs     anything: its text is known only at run time"] : [],
    ...touched,
    ...[...unknown].map((one) => `unknown  ${visibleLine(one)}`),
  ];
}

/** The analysis writes these for a text that may be anything. */
const ANYTHING = ["*", "…", "$…"];

function isAnything(argv: readonly string[]): boolean {
  return argv.length === 1 && ANYTHING.includes(argv[0]!);
}

function isPlainText(text: string): boolean {
  return !ANYTHING.includes(text);
}

/**
 * The other rules that certainly match and could have led to this effect too: a rule that allows
 * explains no other effect. The same entry in two configs is one.
 */
function othersThatMatter({ rule, effect, matched, unsure }: PolicyTestResult): Rule[] {
  const sameIn = ({ list, pattern }: Rule) => `${list} ${pattern}`;
  const seen = new Set([...unsure.map(keyOf), ...rule ? [sameIn(rule)] : []]);
  return matched.filter((one) => {
    if (seen.has(keyOf(one)) || seen.has(sameIn(one))) return false;
    seen.add(sameIn(one));
    const isMark = one.source === "builtin" && one.pattern === rule?.pattern;
    return !isMark && (effect === "allow" || !/^allow/.test(one.list));
  });
}

function ruleText({ pattern, source, list }: Rule, owner: Owner): string {
  if (source === "builtin") return `built into gate, about ${builtinSubject(list)}`;
  return `${visibleLine(pattern)}  (${source === "project" ? owner : source} ${list})`;
}
