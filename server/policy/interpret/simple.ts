import type { Assignment, Command, CommandArgument, Redirection, Word } from "unbash";
import { ANY, asOneWord, DEEP, isSeveral, isStatic, isWild, SPLIT } from "../holes.ts";
import { BUILTINS } from "./builtins.ts";
import { type Call, type Runner, runSeveral } from "./call.ts";
import { checkVariable } from "../programs/environment.ts";
import { type Context, expandText, expandWord } from "./expand.ts";
import { isOfOneShell, isPlainWord } from "./forms.ts";
import type { Recorder } from "./recorder.ts";
import type { redirect } from "./redirect.ts";
import { touchWord } from "../programs/operands.ts";
import type { Variable } from "./state.ts";
import { homesIn } from "./expand.ts";

const MOST_LISTS = 24;
/** The part of the text that a person sees. */
const MOST_SOURCE = 400;
/** One more than `RUN_LIMITS.words`, so that the runner notices the excess. */
const MOST_WORDS = 1_001;

/** The part of the interpreter that simple commands use. */
interface Interpreter {
  readonly recorder: Recorder;
  readonly runner: Runner;
  context(call: Call): Context;
  redirect(redirects: readonly Redirection[], call: Call): ReturnType<typeof redirect>;
}

/** Runs a simple command in every form that its words may expand to. Returns its output. */
export function runSimple(node: Command, outer: Call, interpreter: Interpreter): string {
  const { runner } = interpreter;
  const call = { ...outer, text: sourceOf(node) };
  const context = interpreter.context(call);
  const { stdin, source, capture } = interpreter.redirect(node.redirects, call);
  const assignments = node.prefix.filter((one) => one.type === "Assignment");
  const { lists, several } = expandAll(node.name ? [node.name, ...node.args] : node.args, context);
  const inner = stdin === null ? call : { ...call, stdin, source };
  const substituted = substitutedByFish(node);
  if (substituted && !/^(declare|typeset|local|readonly)$/.test(node.name?.text ?? "")) {
    context.doubt("fish runs what stands in these parentheses", substituted.text);
  } else if (substituted?.value.type === "ArrayValue") {
    const items = substituted.value.elements.map((word) => expandText(word, context)[0]!);
    // No program has a blank in its name.
    if (!/\s/.test(items[0] ?? "")) {
      runner.command(items, { ...inner, shell: call.shell.fork() });
    }
  }
  const own = lists.find(isOfOneShell);
  if (own) {
    context.doubt("some shell runs this itself, in a way that gate does not follow", own.join(" "));
  }
  noteUnresolved(lists, node, inner, interpreter);
  if (lists.every((argv) => argv.length === 0)) {
    for (const one of assignments) assign(one, context, inner, runner);
    // `$(<file)` is the content of the file.
    return capture(assignments.length === 0 ? stdin ?? "" : "");
  }
  context.spend(4 * assignments.length);
  const before = assignments.map((one) => [one.name, call.shell.variables.get(one.name)] as const);
  for (const one of assignments) {
    assign(one, context, inner, runner);
    for (const value of call.shell.valuesOf(one.name)) touchWord(value, inner, runner);
  }
  const printed = runAll(lists, several, inner, runner);
  restore(before, call);
  return capture(printed);
}

/** A list where fish sees a substitution, which it runs even for a builtin that it does not have. */
function substitutedByFish({ prefix, name, args }: Command): Assignment | undefined {
  if (!name) return undefined;
  for (const words of [prefix, args]) {
    for (const one of words) {
      if (one.type === "Assignment" && one.value.type === "ArrayValue") return one;
    }
  }
  return undefined;
}

/** Runs every possible form from the same state; afterwards any of them may have run. */
function runAll(
  lists: string[][],
  several: ReadonlySet<string>,
  call: Call,
  runner: Runner,
): string {
  if (lists.length === 1) return runOne(lists[0]!, several, call, runner);
  const start = call.shell.fork();
  const outputs = lists.map((argv) => {
    const shell = start.fork();
    const printed = argv.length > 0 ? runOne(argv, several, { ...call, shell }, runner) : "";
    call.shell.join(shell);
    return printed;
  });
  return outputs.every((one) => one === outputs[0]) ? outputs[0]! : ANY;
}

function runOne(
  argv: readonly string[],
  several: ReadonlySet<string>,
  call: Call,
  runner: Runner,
): string {
  const [program = ""] = argv;
  // A builtin does the same with each of its words, and a function numbers its own.
  const alike = several.size === 0 || !isStatic(program) ||
    Object.hasOwn(BUILTINS, program) || call.shell.functions.has(program);
  return alike
    ? runner.command(argv, call)
    : runSeveral(argv, (word) => several.has(word), call, runner);
}

/** The lists of words that the words of a command may become, and which of those may be several. */
function expandAll(words: readonly CommandArgument[], context: Context) {
  let lists: string[][] = [[]];
  let several: Set<string> | null = null;
  context.spend(words.length / 4);
  for (const word of words.slice(0, MOST_WORDS)) {
    const next = word.type === "Word" ? expandWord(word, context) : [[argument(word, context)]];
    const fitting = lists.length * next.length > MOST_LISTS ? [[merged(next)]] : next;
    if (maySplit(word)) {
      for (const field of fitting.flat()) {
        if (isSeveral(field)) (several ??= new Set()).add(field);
      }
    }
    if (lists.length === 1 && fitting.length === 1) lists[0]!.push(...fitting[0]!);
    else lists = lists.flatMap((list) => fitting.map((fields) => [...list, ...fields]));
  }
  return { lists, several: several ?? NOTHING };
}

const NOTHING: ReadonlySet<string> = new Set();

/** Whether a word may become several, because no quotes make one word of it. */
function maySplit(word: CommandArgument): boolean {
  if (word.type !== "Word" || isPlainWord(word) || !word.parts) return false;
  const is_open = word.parts.some(({ type }) => !QUOTES.test(type));
  // Only `"$@"` and the like are several words in quotes.
  const is_list = word.parts.some(({ type, text }) =>
    type === "DoubleQuoted" && text.includes("@")
  );
  return is_open || is_list;
}

const QUOTES = /^(Literal|SingleQuoted|AnsiCQuoted|DoubleQuoted|LocaleString)$/;

function merged(lists: string[][]): string {
  const is_name = lists.every((list) =>
    list.length === 1 && !/^-/.test(list[0]!) && !isWild(list[0]!)
  );
  return is_name ? DEEP : SPLIT;
}

/** `declare a=1`: the assignment as the text of the builtin's argument. */
function argument(node: Assignment, context: Context): string {
  const name = node.index ? `${node.name}[${expandText(node.index, context)[0]}]` : node.name;
  if (node.value.type === "ArrayValue") {
    context.shell.assignItems(node.name, itemsOf(node.value.elements, context));
    return name;
  }
  const [value, ...more] = expandValue(node.value, context);
  return `${name}${node.append ? "+" : ""}=${more.length > 0 ? ANY : value}`;
}

function itemsOf(words: readonly Word[], context: Context): string[] {
  context.spend(words.length);
  return words.flatMap((word) => {
    const lists = expandWord(word, context);
    return lists.length === 1 ? lists[0]! : [SPLIT];
  }).map((item) => {
    const index = /^\[([^]*?)\]\+?=/.exec(item);
    if (!index) return item;
    context.compute(index[1]!);
    return item.slice(index[0].length);
  });
}

function assign(node: Assignment, context: Context, call: Call, runner: Runner): void {
  const { shell } = call;
  if (node.index) { for (const text of expandText(node.index, context)) context.compute(text); }
  if (node.value.type === "ArrayValue") {
    const items = itemsOf(node.value.elements, context);
    const old = node.append ? shell.variables.get(node.name)?.items ?? [] : [];
    shell.assignItems(node.name, [...old, ...items]);
    return;
  }
  const values = expandValue(node.value, context);
  for (const value of values) checkVariable(node.name, value, call, runner);
  if (node.index) {
    const items = [...shell.variables.get(node.name)?.items ?? []];
    const at = Number(expandText(node.index, context)[0]);
    // Shells count from zero or from one, so the place of the item is not known.
    if (Number.isInteger(at) && at !== items.length) items.push(SPLIT);
    shell.assignItems(node.name, [...items, ...values]);
    return;
  }
  const old = node.append ? shell.valuesOf(node.name) : [""];
  shell.assign(node.name, old.flatMap((one) => values.map((value) => asOneWord(one + value))));
}

/** The values that a variable gets: `a=(1)ls` gives it a text in bash, and runs `ls` in zsh. */
function expandValue(value: Word, context: Context): string[] {
  if (value.text.startsWith("(")) context.doubt("zsh runs the text behind a list", value.text);
  return expandText(homesIn(value, context.shell), context);
}

/** Restores the variables that were set for one command only. */
function restore(before: readonly (readonly [string, Variable | undefined])[], { shell }: Call) {
  for (const [name, variable] of before) {
    if (variable) shell.variables.set(name, variable);
    else shell.variables.delete(name);
  }
}

function noteUnresolved(
  lists: string[][],
  node: Command,
  call: Call,
  { recorder }: Interpreter,
): void {
  if (!lists.some((argv) => argv.some(isWild))) return;
  const words = [...(node.name ? [node.name] : []), ...node.args];
  for (const word of words) {
    if (/[$`]/.test(word.text)) recorder.unresolved(word.text, call);
  }
}

function sourceOf(node: Command): string {
  let text = node.name?.text ?? "";
  for (const word of node.args) {
    if (text.length >= MOST_SOURCE) break;
    text += text === "" ? word.text : ` ${word.text}`;
  }
  return text.slice(0, MOST_SOURCE);
}
