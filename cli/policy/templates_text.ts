import { patternOf, type RuleGroup, type Template } from "../../server/policy/templates.ts";
import type { Io } from "../io.ts";
import { paint } from "../terminal/output.ts";

/** How often a template asks, as half a sentence. */
export function asksOften({ asks_per_hundred, asks_in_sandbox }: Template): string {
  const fewer = asks_in_sandbox < asks_per_hundred ? ` (${asks_in_sandbox} with a sandbox)` : "";
  return `asks about ${asks_per_hundred} of 100 harmless commands of gate's corpus${fewer}`;
}

/** The templates as text: what each allows, asks and denies, and why. */
export function describeTemplates(io: Io, templates: readonly Template[]): string {
  return templates.map((template) => describeTemplate(io, template)).join("\n\n");
}

const SANDBOX = {
  off: "never: a command could change the project in it",
  auto: "instead of a question about a command, where the machine has one and it holds the command",
  always: "every command",
  review: "every command, on a copy of the project; a person approves its changes",
};

const COLOURS = { allow: "green", ask: "yellow", deny: "red" } as const;

function describeTemplate(io: Io, template: Template): string {
  const { name, summary, groups, rest } = template;
  const word = (effect: RuleGroup["effect"]) => paint(io, COLOURS[effect], effect.padEnd(5));
  return [
    `${paint(io, "bold", name)}: ${summary}`,
    `  ${asksOften(template)}`,
    ...groups.flatMap(({ effect, reason, rules }) => [
      `  ${word(effect)}  ${Object.values(rules).flat().map(patternOf).join(", ")}`,
      `         ${paint(io, "dim", `${reason}.`)}`,
    ]),
    `  ${word(rest.effect)}  everything else`,
    `         ${paint(io, "dim", `${rest.reason}.`)}`,
    `  sandbox  ${SANDBOX[template.sandbox?.mode ?? "auto"]}`,
  ].join("\n");
}
