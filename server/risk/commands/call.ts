import { basename } from "node:path";
import type { RiskFactor } from "../../policy/schema.ts";
import type { Cause, RiskFacts } from "../facts.ts";
import { namesProduction } from "../verbs.ts";

/** One program with its arguments. */
export interface Call {
  program: string;
  /** The program as it was called. */
  path: string;
  argv: readonly string[];
  /** The arguments without options, in lower case. */
  words: readonly string[];
  options: readonly string[];
  /** All arguments as one text. */
  text: string;
}

/** A command with everything that its calls share. */
export interface Context {
  calls: readonly Call[];
  facts: RiskFacts;
}

/** The programs that a row describes, and the causes that one call of them has. */
export type Row = [programs: RegExp, causes: (call: Call, context: Context) => Cause[]];

/** Only so much of a command is searched for patterns. */
export const MAX_TEXT = 8_000;

/** The parts of a command as the rows read them. */
export function callOf(argv: string[]): Call {
  const [program = "", ...rest] = argv;
  const options = rest.filter((word) => /^[-+]./.test(word));
  return {
    program: basename(program).toLowerCase(),
    path: program,
    argv: rest,
    words: rest.filter((word) => !/^[-+]./.test(word)).map((word) => word.toLowerCase()),
    options,
    text: rest.join(" ").slice(0, MAX_TEXT),
  };
}

/** One cause as a list. */
export function one(name: RiskFactor, why: string): Cause[] {
  return [{ name, why }];
}

/** Whether an option of the call fits the pattern. */
export function has({ options }: Call, pattern: RegExp): boolean {
  return options.some((option) => pattern.test(option));
}

const TRIES_ONLY =
  /^(--dry-?run(=.*)?|--dryrun|--check|--what-?if|--noop|--simulate|--just-print|--no-execute|--plan|--preview|-WhatIf)$/i;

/** Options with which a program does not ask. */
export const UNATTENDED =
  /^--?(auto-approve|yes|force|quiet|no-prompt|no-input|noinput|skip-confirm(ation)?|no-confirm|assume-yes|non-?interactive|confirm|delete|recursive|all|accept-data-loss|purge|cascade|approve|force-delete.*|skip-final-snapshot|auto-confirm|ignore-dependencies)(=.*)?$/i;

/** Whether the call only shows what it would do. */
export function triesOnly(call: Call): boolean {
  return has(call, TRIES_ONLY);
}

/** Whether the call only prints its help or its version. */
export function asksHelp(call: Call): boolean {
  return has(call, /^(--help|--version|-V)$/) || call.words[0] === "help";
}

/** The production system that a call names, in its arguments or through a variable. */
export function productionOf({ argv }: Call, { facts: { command } }: Context): string | null {
  const variables = command?.match(/\b[A-Z]\w{0,60}=["']?[\w.-]{1,60}|\$\{?\w{1,60}/g) ?? [];
  return namesProduction(argv) ?? namesProduction(variables);
}

/** An address of this machine. */
export const LOCAL =
  /^(https?:\/\/)?(localhost|127\.\d+\.\d+\.\d+|\[?::1\]?|0\.0\.0\.0)(:\d+)?(\/|$)/i;

/** The words without the values of options such as `--context production`. */
export function valuesLeftOut({ argv }: Call): string[] {
  return argv.filter((word, at) =>
    !/^[-+]./.test(word) &&
    !/^--?(context|namespace|n|region|profile|project|cluster|name|app|a|var|var-file|f|filename|o|output|user-name|zone|chdir|t|target|kube-context|resource-group|g|stack|e|env|environment|message|m)$/
      .test(argv[at - 1] ?? "")
  ).map((word) => word.toLowerCase());
}
