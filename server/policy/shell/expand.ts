import {
  type ArithmeticExpression,
  parse,
  type ParsedScript,
  type Word,
  type WordPart,
} from "unbash";
import {
  ANY,
  asOneWord,
  BRACKET,
  collapse,
  FIELD,
  generalise,
  isStatic,
  QUESTION,
  QUOTED,
  SPLIT,
  STAR,
  TAME,
} from "../holes.ts";
import { expandBraceText } from "./braces.ts";
import { expandParameter } from "./parameter.ts";
import type { Shell } from "./state.ts";
import { tildeInWord } from "./tilde.ts";

/** What expansion needs of whoever runs the script. */
export interface Context {
  shell: Shell;
  /** Counts work done; throws when it is too much. */
  spend: (work: number) => void;
  /** Runs a substitution; what it prints. */
  substitute: (script: ParsedScript) => string;
  /** Runs a process substitution; the name of its pipe. */
  connect: (script: ParsedScript, operator: "<" | ">") => string;
  /** Runs what stands in an arithmetic expression. */
  arithmetic: (expression: ArithmeticExpression | undefined) => void;
  /** Text that bash may evaluate a second time. */
  reevaluate: (text: string) => void;
  doubt: (reason: string, text: string) => void;
}

const MOST_ALTERNATIVES = 24;
const MOST_TEXT = 16_384;

/** The argument lists a word may become; there is always one. */
export function expandWord(word: Word, context: Context): string[][] {
  payForReading(word, context);
  if (!word.parts && !needsCare(word.text)) return [[word.value]];
  context.spend(1);
  const braced = expandBraces(word, context);
  if (braced) return braced.length > 0 ? product(braced, context) : [[SPLIT]];
  return distinct(expandParts(partsOf(word), false, context)).map(toFields);
}

/** The texts a word may become where no splitting happens: assignments, redirections, `case`. */
export function expandText(word: Word, context: Context): string[] {
  payForReading(word, context);
  if (!word.parts && !needsCare(word.text)) return [word.value];
  const texts = expandParts(partsOf(word), true, context).map(unmark);
  return distinct(texts);
}

/** The parser reads what is in a word only when it is looked at. */
function payForReading({ text }: Word, context: Context): void {
  if (text.length > 64 && /[$`{]/.test(text)) context.spend(text.length / 16);
}

/** The text of a here-document that is not quoted. */
export function expandBody(parts: readonly WordPart[], context: Context): string[] {
  return distinct(expandParts(parts, true, context).map(unmark));
}

function needsCare(text: string): boolean {
  return text.startsWith("~") || text.includes("=~");
}

function distinct(texts: string[]): string[] {
  return texts.length > 1 ? [...new Set(texts)] : texts;
}

function partsOf(word: Word): readonly WordPart[] {
  if (word.parts) return word.parts;
  const { pos, end, text, value } = word;
  return [{ type: "Literal", pos, end, text, value }];
}

/** Splits at the marks; a part that was not quoted and is empty makes no word. */
function toFields(text: string): string[] {
  return text.split(FIELD).filter((field) => field !== "").map((field) =>
    field.replaceAll(QUOTED, "")
  );
}

function unmark(text: string): string {
  return asOneWord(text.replaceAll(QUOTED, "").replaceAll(FIELD, " "));
}

const MOST_BRACED = 64;

/** Each word of a brace expansion, parsed again; null without braces, empty when too many. */
function expandBraces(word: Word, context: Context): Word[] | null {
  const done: Word[] = [];
  const queue = [word];
  for (let word = queue.pop(); word; word = queue.pop()) {
    const brace = word.parts?.find((part) => part.type === "BraceExpansion");
    if (!brace) {
      if (done.push(word) > MOST_BRACED) return [];
      continue;
    }
    const results = expandBraceText(brace.text);
    if (!results || queue.length + results.length > MOST_BRACED) return [];
    const before = word.text.slice(0, brace.pos - word.pos);
    const after = word.text.slice(brace.end - word.pos);
    for (const result of results.toReversed()) {
      context.spend(2 + (before.length + result.length + after.length) / 16);
      const made = parseWord(before + result + after);
      if (made) queue.push(made);
    }
  }
  return done.length === 1 && done[0] === word ? null : done;
}

function parseWord(text: string): Word | null {
  const command = parse(`: ${text}`).commands[0]?.command;
  const found = command?.type === "Command" ? command.suffix[0] : undefined;
  return found?.type === "Word" ? found : null;
}

function product(words: Word[], context: Context): string[][] {
  let lists: string[][] = [[]];
  for (const word of words) {
    const next = expandWord(word, context);
    if (lists.length * next.length > MOST_ALTERNATIVES) return [[SPLIT]];
    lists = lists.flatMap((list) => next.map((fields) => [...list, ...fields]));
  }
  return lists;
}

/** What a part costs, where it is not 2. */
const COSTS: Partial<Record<WordPart["type"], number>> = { Literal: 1, ParameterExpansion: 8 };

function expandParts(parts: readonly WordPart[], quoted: boolean, context: Context): string[] {
  let texts = [""];
  for (const [at, part] of parts.entries()) {
    context.spend((COSTS[part.type] ?? 2) + texts.length / 4);
    let next = expandPart(part, quoted, at === 0, context);
    if (texts.length * next.length > MOST_ALTERNATIVES) next = [generalise(next)];
    if (texts.length * next.length > MOST_ALTERNATIVES) texts = [generalise(texts)];
    texts = texts.length === 1 && next.length === 1
      ? [texts[0]! + next[0]!]
      : texts.flatMap((text) => next.map((one) => text + one));
    if (texts[0]!.length > MOST_TEXT) texts = [ANY];
  }
  return texts.map(collapse);
}

function expandPart(part: WordPart, quoted: boolean, first: boolean, context: Context): string[] {
  switch (part.type) {
    case "Literal":
      return [first && !quoted ? tildeInWord(part.value, part.text, context.shell) : part.value];
    case "SingleQuoted":
      return [QUOTED + part.value];
    case "AnsiCQuoted":
      // Bash reads an open brace after \x in a way of its own.
      return [QUOTED + (part.text.includes("\\x{") ? ANY : part.value)];
    case "DoubleQuoted":
    case "LocaleString":
      return expandQuoted(part.parts, context);
    case "Glob":
      if (part.kind === "bracket") expandParts(part.parts, quoted, context);
      return [quoted ? part.text : context.shell.dotted ? ANY : globMark(part.kind)];
    case "SimpleExpansion":
      return unquote(
        expandSimple(part.text.slice(1), context.shell, quoted),
        quoted,
        context.shell,
      );
    case "ParameterExpansion":
      return unquote(expandParameter(part, quoted, context, expandText), quoted, context.shell);
    case "CommandExpansion":
      return unquote([substituted(part.script, context)], quoted, context.shell);
    case "ArithmeticExpansion":
      context.spend(part.text.length / 2);
      context.arithmetic(part.expression);
      return [compute(part.text)];
    case "ProcessSubstitution":
      return [part.script ? context.connect(part.script, part.operator) : ANY];
    default:
      // An extended glob or what is left of braces: whatever stands inside runs. Unlike a star, an
      // extended glob finds names with a dot in front, and it need not find files.
      expandParts(part.parts ?? [], quoted, context);
      return [part.type === "ExtendedGlob" ? ANY : SPLIT];
  }
}

function globMark(kind: "star" | "question" | "bracket"): string {
  return { star: STAR, question: QUESTION, bracket: BRACKET }[kind];
}

function substituted(script: ParsedScript | undefined, context: Context): string {
  return script ? context.substitute(script).replace(/\n+$/, "") : ANY;
}

/** A sum of two numbers; of everything else only that it is a number. */
function compute(text: string): string {
  const sum = /^\$\(\(\s*(\d{1,9})\s*([-+*])\s*(\d{1,9})\s*\)\)$/.exec(text);
  if (!sum) return TAME;
  const [a, b] = [Number(sum[1]), Number(sum[3])];
  return String(sum[2] === "+" ? a + b : sum[2] === "-" ? a - b : a * b);
}

/** A quoted part makes a word even of nothing, but `"$@"` without arguments makes none. */
function expandQuoted(parts: readonly WordPart[], context: Context): string[] {
  const texts = expandParts(parts, true, context);
  const list = parts.length === 1 && /^\$(@|\{@\}|\{\w+\[@\]\})$/.test(parts[0]!.text);
  return texts.map((text) => list && text === "" ? "" : QUOTED + text);
}

/** The values of `$name`, `$1`, `$@`; items of a list are parted by marks. */
function expandSimple(name: string, shell: Shell, quoted: boolean): string[] {
  if (name === "@") return [joinItems(shell.positional, quoted)];
  if (name === "*") {
    return [quoted ? shell.positional.join(" ") : joinItems(shell.positional, false)];
  }
  if (name === "#") return [String(shell.positional.length)];
  if (name === "0") return [shell.program];
  if (/^\d+$/.test(name)) return [shell.positional[Number(name) - 1] ?? ""];
  return shell.valuesOf(name);
}

/** List items as words of their own: quoted ones keep their blanks, and even empty ones count. */
function joinItems(items: readonly string[], quoted: boolean): string {
  return items.map((item) => quoted ? QUOTED + asOneWord(item) : item).join(FIELD);
}

/** What splitting and globbing make of an unquoted expansion. */
function unquote(values: string[], quoted: boolean, shell: Shell): string[] {
  if (quoted) return values.map(asOneWord);
  const separators = shell.valuesOf("IFS");
  const all = values.flatMap((value) => {
    if (/^[\w./:-]+$/.test(value) && separators.length === 1 && separators[0] === BLANKS) {
      return value;
    }
    const open = value.replaceAll(ANY, SPLIT);
    return separators.map((one) => globbed(splitFields(open, one), shell));
  });
  return distinct(all);
}

const BLANKS = " \t\n";

function globbed(text: string, { dotted }: Shell): string {
  if (dotted && /[*?[]/.test(text)) return text.replace(/[*?[]/g, ANY);
  return text.replaceAll("*", STAR).replaceAll("?", QUESTION).replaceAll("[", BRACKET);
}

function splitFields(value: string, separators: string): string {
  if (separators === "") return value;
  if (!isStatic(separators)) return value === "" ? "" : SPLIT;
  if (separators === BLANKS) return value.replace(/[ \t\n]+/g, FIELD);
  const escaped = separators.replace(/[\\\]^-]/g, "\\$&");
  return value.replace(new RegExp(`[${escaped}]`, "g"), FIELD);
}
