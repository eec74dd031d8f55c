import {
  type ArithmeticExpression,
  type ParameterExpansionPart,
  type ParameterOperation,
  parse,
  type ParsedScript,
  type Word,
  type WordPart,
} from "unbash";
import { compileSegment, matchSegment } from "../glob.ts";
import {
  ANY,
  asOneWord,
  BRACKET,
  collapse,
  DEEP,
  FIELD,
  generalise,
  isSeveral,
  isStatic,
  isWild,
  QUESTION,
  QUOTED,
  SPLIT,
  STAR,
  TAME,
} from "../holes.ts";
import { continues, isPlainWord, strangeIn, strangePart } from "./forms.ts";
import { isReadByPrograms } from "../programs/environment.ts";
import type { Shell } from "./state.ts";

/** The state and the callbacks that expansion needs. */
export interface Context {
  readonly shell: Shell;
  /** Counts work; throws beyond the bound. */
  spend(work: number): void;
  /** Runs a substitution and returns its output. */
  substitute(script: ParsedScript): string;
  /** Runs a process substitution and returns the name of its pipe. */
  connect(script: ParsedScript, operator: "<" | ">"): string;
  /** Runs the substitutions in an arithmetic expression. */
  arithmetic(expression: ArithmeticExpression | undefined): void;
  /** Records text that bash may evaluate a second time. */
  reevaluate(text: string): void;
  /** Records text that bash evaluates as arithmetic, with the values of the variables in it. */
  compute(text: string): void;
  doubt(reason: string, text: string): void;
}

const MOST_ALTERNATIVES = 24;
const MOST_TEXT = 16_384;

/** The argument lists that a word may expand to, at least one. */
export function expandWord(word: Word, context: Context): string[][] {
  if (isPlainWord(word)) return [[word.value]];
  payForReading(word, context);
  doubtForm(word, context);
  if (!word.parts && !needsCare(word.text)) return [[word.value]];
  context.spend(1);
  const braced = expandBraces(word, context);
  if (braced) return braced.length > 0 ? product(braced, context) : [[SPLIT]];
  return distinct(expandParts(partsOf(word), false, context)).map(toFields);
}

/** The texts that a word may expand to without splitting: assignments, redirections, `case`. */
export function expandText(word: Word, context: Context): string[] {
  if (isPlainWord(word)) return [word.value];
  payForReading(word, context);
  doubtForm(word, context);
  if (!word.parts && !needsCare(word.text)) return [word.value];
  const texts = expandParts(partsOf(word), true, context).map(unmark);
  return distinct(texts);
}

function doubtForm(word: Word, context: Context): void {
  const strange = strangePart(word);
  if (strange) context.doubt(strange.reason, strange.text);
}

/** The parser parses the parts of a word lazily, so they cost work here. */
function payForReading({ text }: Word, context: Context): void {
  if (text.length > 64 && /[$`{]/.test(text)) context.spend(text.length / 16);
}

/** The texts that an unquoted here-document may expand to. */
export function expandBody(parts: readonly WordPart[], context: Context): string[] {
  const strange = strangeIn(parts, true);
  if (strange) context.doubt(strange.reason, strange.text);
  return distinct(expandParts(parts, true, context).map(unmark));
}

function needsCare(text: string): boolean {
  return text.startsWith("~") || text.includes("=~") || (text.includes("$") && OF_ZSH.test(text));
}

/** `$=name`, `$~name`, `$^name`: zsh puts a value in, or nothing without a name. */
const OF_ZSH = /(?<!\\)\$[=~^]/;

function distinct(texts: string[]): string[] {
  return texts.length > 1 ? [...new Set(texts)] : texts;
}

function partsOf(word: Word): readonly WordPart[] {
  if (word.parts) return word.parts;
  const { pos, end, text, value } = word;
  return [{ type: "Literal", pos, end, text, value }];
}

/** Splits at the marks; an empty unquoted part makes no word. */
function toFields(text: string): string[] {
  return text.split(FIELD).filter((field) => field !== "").map((field) =>
    field.replaceAll(QUOTED, "")
  );
}

function unmark(text: string): string {
  const joined = text.replaceAll(SPLIT_ITEMS, SPLIT).replaceAll(QUOTED, "");
  return asOneWord(joined.replaceAll(FIELD, " "));
}

const MOST_BRACED = 64;

/** The words of a brace expansion, parsed again; null without braces, empty for too many. */
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

/** The cost of a part; 2 unless listed. */
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
    if (continues(part, parts[at - 1])) texts = [...texts, quoted ? ANY : SPLIT];
  }
  return texts.map(collapse);
}

function expandPart(part: WordPart, quoted: boolean, first: boolean, context: Context): string[] {
  switch (part.type) {
    case "Literal":
      if (OF_ZSH.test(part.text)) return [quoted ? ANY : SPLIT];
      return [first && !quoted ? tildeInWord(part.value, part.text, context.shell) : part.value];
    case "SingleQuoted":
      return [QUOTED + part.value];
    case "AnsiCQuoted":
      // Bash gives \x{ a meaning of its own.
      return [QUOTED + (part.text.includes("\\x{") ? ANY : part.value)];
    case "DoubleQuoted":
    case "LocaleString":
      return expandQuoted(part.parts, context);
    case "Glob":
      if (part.kind === "bracket") expandParts(part.parts, quoted, context);
      return [quoted ? part.text : context.shell.dotted ? SPLIT : globMark(part)];
    case "SimpleExpansion":
      return unquote(
        expandSimple(part.text.slice(1), context.shell, quoted),
        quoted,
        context.shell,
      );
    case "ParameterExpansion":
      return unquote(expandParameter(part, quoted, context), quoted, context.shell);
    case "CommandExpansion":
      return unquote([substituted(part.script, context)], quoted, context.shell);
    case "ArithmeticExpansion":
      context.spend(part.text.length / 2);
      context.arithmetic(part.expression);
      return [compute(part.text)];
    case "ProcessSubstitution":
      return [part.script ? context.connect(part.script, part.operator) : ANY];
    default:
      // Substitutions inside an extended glob or the rest of braces run. Unlike a star, an extended
      // glob also matches names with a leading dot, and may match no file.
      expandParts(part.parts ?? [], quoted, context);
      return [quoted ? ANY : SPLIT];
  }
}

/** Some shells find files at any depth by several stars. */
function globMark({ kind, text }: WordPart & { type: "Glob" }): string {
  if (kind === "star" && text.length > 1) return DEEP;
  return { star: STAR, question: QUESTION, bracket: BRACKET }[kind];
}

function substituted(script: ParsedScript | undefined, context: Context): string {
  return script ? context.substitute(script).replace(/\n+$/, "") : ANY;
}

/** Computes one operation on two numbers; any other result is an unknown number. */
function compute(text: string): string {
  const sum = /^\$\(\(\s*(\d{1,9})\s*([-+*])\s*(\d{1,9})\s*\)\)$/.exec(text);
  if (!sum) return TAME;
  const [a, b] = [Number(sum[1]), Number(sum[3])];
  return String(sum[2] === "+" ? a + b : sum[2] === "-" ? a - b : a * b);
}

/** An empty quoted part makes a word, except `"$@"` without arguments. */
function expandQuoted(parts: readonly WordPart[], context: Context): string[] {
  const texts = expandParts(parts, true, context);
  const list = parts.length === 1 && /^\$(@|\{@\}|\{\w+\[@\]\})$/.test(parts[0]!.text);
  const isList = (text: string) => (list && text === "") || text.startsWith(FIELD);
  return texts.map((text) => isList(text) ? text : QUOTED + text);
}

/** The values of `$name`, `$1`, `$@`; marks separate the items of a list. */
function expandSimple(name: string, shell: Shell, quoted: boolean): string[] {
  if (name === "@" || name === "*") return [joinList(shell, shell.positional, name, quoted)];
  if (name === "0") return [shell.program];
  return listOf(shell, name, undefined, quoted) ?? shell.valuesOf(name);
}

/** The items of `$@` or `$*` as separate words. Quoted items keep their blanks and may be empty. */
function joinList(
  shell: Shell,
  items: readonly string[],
  how: string,
  quoted: boolean,
): string {
  if (how === "*" && quoted) {
    const [separators, ...more] = shell.valuesOf("IFS");
    return separators === BLANKS && more.length === 0 || items.length < 2 ? items.join(" ") : ANY;
  }
  // The text before and behind the list joins only its first and its last word.
  const words = items.flatMap((item) => isSeveral(item) ? [item, item] : [item]);
  return words.map((item) => quoted ? itemInQuotes(item) : item).join(FIELD);
}

/** An item of `"$@"`: one word, unless it stands for any number of items. */
function itemInQuotes(item: string): string {
  return item === SPLIT ? SPLIT_ITEMS : QUOTED + asOneWord(item);
}

const SPLIT_ITEMS = FIELD + SPLIT + FIELD;

/** Applies word splitting and globbing to an unquoted expansion. */
function unquote(values: string[], quoted: boolean, shell: Shell): string[] {
  if (quoted) return values.map((value) => value.includes(FIELD) ? value : asOneWord(value));
  const separators = shell.valuesOf("IFS");
  const all = values.flatMap((value) => {
    if (/^[\w./:-]+$/.test(value) && separators.length === 1 && separators[0] === BLANKS) {
      return value;
    }
    const open = value.replaceAll(ANY, SPLIT);
    const split = separators.map((one) => globbed(splitFields(open, one), shell));
    // zsh splits nothing.
    return separators.every((one) => one === BLANKS) ? split : [...split, open];
  });
  return distinct(all);
}

const BLANKS = " \t\n";

function globbed(text: string, { dotted }: Shell): string {
  if (dotted && /[*?[]/.test(text)) return text.replace(/[*?[]/g, SPLIT);
  return text.replace(/\*{2,}/g, DEEP).replaceAll("*", STAR).replaceAll("?", QUESTION)
    .replace(BRACKETS, BRACKET);
}

/** `[a-z]`, `[[:alpha:]]`, or a bracket that is not closed. */
const BRACKETS = /\[[!^]?\]?(?:\[([:.=]).*?\1\]|[^\]])*\]|\[/g;

function splitFields(value: string, separators: string): string {
  if (separators === "") return value;
  if (!isStatic(separators)) return value === "" ? "" : SPLIT;
  if (separators === BLANKS) return value.replace(/[ \t\n]+/g, FIELD);
  const escaped = separators.replace(/[\\\]^-]/g, "\\$&");
  return value.replace(new RegExp(`[${escaped}]`, "g"), FIELD);
}

/** The values of `${…}`; marks separate the items of a list. */
function expandParameter(
  part: ParameterExpansionPart,
  quoted: boolean,
  context: Context,
): string[] {
  const index = part.index ? expandText(part.index, context) : [];
  for (const text of index) context.compute(text);
  const values = baseValues(part, index[0], quoted, context);
  if (part.prefix === "#") return values.map((value) => isStatic(value) ? `${value.length}` : TAME);
  if (!part.operation) return values;
  const changed = operate(part, values, context);
  // Each item changes by itself, and a slice leaves some out.
  const is_list = /^[@*]$/.test(part.index?.text ?? part.parameter);
  return is_list && part.operation.type !== "Default" ? [quoted ? SPLIT_ITEMS : SPLIT] : changed;
}

function baseValues(
  part: ParameterExpansionPart,
  index: string | undefined,
  quoted: boolean,
  context: Context,
): string[] {
  const { shell } = context;
  if (part.prefix === "#" && (index === "@" || index === "*")) return [TAME];
  const list = listOf(shell, part.parameter, index, quoted);
  if (list !== null && part.prefix !== "!") return list;
  const values = list ?? shell.valuesOf(part.parameter);
  if (part.prefix !== "!") return values;
  // The environment's own values are not the agent's.
  if (shell.variables.has(part.parameter)) { for (const name of values) context.reevaluate(name); }
  return values.flatMap((name) => /^\w+$/.test(name) ? shell.valuesOf(name) : [ANY]);
}

/** A list within the default, which stays several words: `${1+"$@"}`. */
const LIST = /\$\{?[@*]|\[[@*]\]/;

function operate(
  part: ParameterExpansionPart,
  values: string[],
  context: Context,
): string[] {
  const operation = part.operation!;
  switch (operation.type) {
    case "Default": {
      const operand = homesIn(operation.operand, context.shell);
      const texts = expandText(operand, context);
      return withDefault(
        part,
        operation,
        values,
        LIST.test(operand.text) ? [SPLIT_ITEMS] : texts,
        context,
      );
    }
    case "Remove": {
      const pattern = expandText(operation.operand, context)[0]!;
      return values.map((value) => remove(value, operation.operator, pattern));
    }
    case "Replace":
      return replaceAll(values, operation, context);
    case "Slice":
      return slice(values, operation, context);
    case "CaseModification":
      if (operation.operand) expandText(operation.operand, context);
      return values.map((value) => changeCase(value, operation.operator));
    case "Transform":
      return values.map((value) => transform(value, operation.operand.value, context));
    default:
      return [ANY];
  }
}

function withDefault(
  part: ParameterExpansionPart,
  { operator }: ParameterOperation & { type: "Default" },
  values: string[],
  operand: string[],
  { shell, doubt }: Context,
): string[] {
  const isSet = shell.variables.has(part.parameter) || /^(HOME|PWD)$/.test(part.parameter) ||
    (/^\d+$/.test(part.parameter) && Number(part.parameter) <= shell.positional.length);
  const certain = isSet && values.every((value) => isStatic(value) && value !== "");
  const nothing = /^[\d@*]$/.test(part.parameter) && shell.positional.length === 0;
  if (operator.endsWith("+")) return certain ? operand : nothing ? [""] : ["", ...operand];
  if (operator.endsWith("?") || certain) return values;
  if (isSet && !operator.startsWith(":") && values.every(isStatic)) {
    // An empty value may mean that the name was unset.
    return values.includes("") ? [...values, ...operand] : values;
  }
  const either = nothing ? operand : [...values.filter((value) => value !== ""), ...operand];
  if (operator.endsWith("=")) {
    if (isReadByPrograms(part.parameter)) doubt("other programs read this variable", part.text);
    if (part.index) shell.assignItems(part.parameter, either);
    else shell.assign(part.parameter, either);
  }
  return either;
}

/** `+(…)` and similar patterns have another meaning under `extglob`. */
const EXTENDED = /[?*+@!\uFDD4\uFDD5]\(/;

/** The hole for a changed value whose characters are unknown. */
function vague(value: string): string {
  return isWild(value) ? ANY : DEEP;
}

/** Removes a prefix or suffix (`${x#p}`); tries every length, because values are short. */
function remove(value: string, operator: string, pattern: string): string {
  if (EXTENDED.test(pattern)) return ANY;
  const front = operator.startsWith("#");
  if (!/[*?[\]\\\uFDD0-\uFDD6]/.test(pattern)) {
    if (front && value.startsWith(pattern)) return value.slice(pattern.length);
    if (!front && value.endsWith(pattern)) return value.slice(0, value.length - pattern.length);
    return isStatic(value) ? value : vague(value);
  }
  if (!isStatic(value) || value.length > 512) return vague(value);
  const written = pattern.replaceAll(STAR, "*").replaceAll(QUESTION, "?");
  if (!isStatic(written)) return ANY;
  const segment = compileSegment(written);
  const cuts = Array.from({ length: value.length + 1 }, (_, at) => at);
  const shortestFirst = front === (operator.length === 1);
  for (const at of shortestFirst ? cuts : cuts.toReversed()) {
    const tried = front ? value.slice(0, at) : value.slice(at);
    if (matchSegment(segment, tried) === "yes") return front ? value.slice(at) : value.slice(0, at);
  }
  return value;
}

function replaceAll(
  values: string[],
  operation: ParameterOperation & { type: "Replace" },
  context: Context,
): string[] {
  const pattern = expandText(operation.pattern, context)[0]!;
  const replacement = asOneWord(expandText(operation.replacement, context)[0]!);
  return values.map((value) => {
    const plain = isStatic(value) && !/[*?[\\\uFDD0-\uFDD6]/.test(pattern) && pattern !== "";
    if (value.length * (1 + replacement.length) > 16_384) return ANY;
    if (EXTENDED.test(pattern)) return ANY;
    if (!plain) return isWild(value + replacement) || isStatic(value) ? ANY : DEEP;
    if (operation.operator === "//") return value.replaceAll(pattern, () => replacement);
    if (operation.operator === "/") return value.replace(pattern, () => replacement);
    const at = operation.operator === "/#" ? value.startsWith(pattern) : value.endsWith(pattern);
    if (!at) return value;
    const length = pattern.length;
    return operation.operator === "/#"
      ? replacement + value.slice(length)
      : value.slice(0, -length) + replacement;
  });
}

function slice(
  values: string[],
  operation: ParameterOperation & { type: "Slice" },
  context: Context,
): string[] {
  const offset = expandText(operation.offset, context)[0]!;
  const length = operation.length ? expandText(operation.length, context)[0]! : null;
  context.compute(offset);
  if (length !== null) context.compute(length);
  return values.map((value) => {
    const known = isStatic(value) && /^\s*-?\d+$/.test(offset) &&
      (length === null || /^\s*-?\d+$/.test(length));
    if (!known) return vague(value) === DEEP && !isStatic(value) ? DEEP : ANY;
    const from = value.slice(Number(offset));
    if (length === null) return from;
    return Number(length) < 0 ? from.slice(0, Number(length)) : from.slice(0, Number(length));
  });
}

function changeCase(value: string, operator: string): string {
  if (operator === "^^") return value.toUpperCase();
  if (operator === ",,") return value.toLowerCase();
  const first = operator === "^" ? value.charAt(0).toUpperCase() : value.charAt(0).toLowerCase();
  return first + value.slice(1);
}

function transform(value: string, kind: string, context: Context): string {
  if (kind === "P") context.reevaluate(value);
  if (kind === "U") return value.toUpperCase();
  if (kind === "L") return value.toLowerCase();
  return kind === "Q" || kind === "P" ? value : ANY;
}

/**
 * The texts of `${name[index]}` or `${@}`, with marks between items; null if the name is not a list.
 */
function listOf(
  shell: Shell,
  name: string,
  index: string | undefined,
  quoted: boolean,
): string[] | null {
  if (name === "@" || name === "*") return [joinList(shell, shell.positional, name, quoted)];
  if (/^\d+$/.test(name)) return itemAt(shell.positional, Number(name) - 1);
  if (name === "#") {
    return [shell.positional.some(isSeveral) ? TAME : String(shell.positional.length)];
  }
  const items = shell.variables.get(name)?.items;
  // zsh counts from one, and without an index means all items.
  if (index === undefined) {
    if (!items) return null;
    const all = items.length > 1 ? [joinList(shell, items, quoted ? "*" : "@", quoted)] : [];
    return [items[0] ?? "", ...all];
  }
  if (!items) return index === "@" || index === "*" || index === "0" ? null : [SPLIT];
  if (index === "@" || index === "*") return [joinList(shell, items, index, quoted)];
  if (/^-\d+$/.test(index)) {
    return items.some(isSeveral) ? items : [items.at(Number(index)) ?? ""];
  }
  if (/^\d+$/.test(index)) {
    const at = Number(index);
    return distinct([...itemAt(items, at), ...at > 0 ? itemAt(items, at - 1) : [""]]);
  }
  return items.length > 0 ? items : [""];
}

/** The possible values of one item: behind one that may be several, each of those before it. */
function itemAt(items: readonly string[], at: number): string[] {
  const first = items.findIndex(isSeveral);
  return first < 0 || first > at ? [items[at] ?? ""] : distinct(items.slice(first, at + 1));
}

const MOST_RESULTS = 64;

/**
 * The words of a brace expansion as source text; null for too many. `text` is the braces alone.
 */
function expandBraceText(text: string): string[] | null {
  const inner = text.slice(1, -1);
  const range = /^(-?\d+|[A-Za-z])\.\.(-?\d+|[A-Za-z])(?:\.\.(-?\d+))?$/.exec(inner);
  if (range) return expandRange(range[1]!, range[2]!, Number(range[3] ?? 1));
  const parts = splitCommas(inner);
  return parts.length > MOST_RESULTS ? null : parts;
}

function expandRange(from: string, to: string, by: number): string[] | null {
  const letters = !/\d/.test(from);
  const [first, last] = letters ? [from.charCodeAt(0), to.charCodeAt(0)] : [+from, +to];
  const step = Math.max(1, Math.abs(by)) * (first! <= last! ? 1 : -1);
  const count = Math.floor((last! - first!) / step) + 1;
  if (!(count <= MOST_RESULTS)) return null;
  const width = /^-?0\d/.test(from) || /^-?0\d/.test(to) ? Math.max(from.length, to.length) : 0;
  return Array.from({ length: count }, (_, at) => {
    const value = first! + at * step;
    return letters ? String.fromCharCode(value) : String(value).padStart(width, "0");
  });
}

/** Splits at commas outside quotes, inner braces and substitutions. */
function splitCommas(inner: string): string[] {
  const parts: string[] = [];
  let [depth, start, quote] = [0, 0, ""];
  for (let at = 0; at < inner.length; at++) {
    const char = inner[at]!;
    if (char === "\\") at++;
    else if (quote) quote = char === quote ? "" : quote;
    else if (char === "'" || char === '"' || char === "`") quote = char;
    else if (char === "{" || char === "(") depth++;
    else if (char === "}" || char === ")") depth--;
    else if (char === "," && depth === 0) {
      parts.push(inner.slice(start, at));
      start = at + 1;
    }
  }
  return [...parts, inner.slice(start)];
}

/** The start of a command's word with `~` expanded. */
function tildeInWord(value: string, text: string, shell: Shell): string {
  // Bash treats `of=~/x` as an assignment even among the arguments of a program.
  const { length } = shell.plain ? "" : /^[A-Za-z_]\w*\+?=/.exec(text)?.[0] ?? "";
  return value.slice(0, length) + tilde(value.slice(length), text.slice(length), shell);
}

/** An assigned value such as `~/a:~/b` with every `~` expanded. */
export function homesIn(word: Word, shell: Shell): Word {
  if (!/(?:^|:)~/.test(word.text)) return word;
  const { type, pos, end, text, value } = word;
  const parts = word.parts ?? [{ type: "Literal", pos, end, text, value } as const];
  const homes = parts.map((part, at) => withHomes(part, at === 0, shell));
  return { type, pos, end, text, value, parts: homes };
}

function withHomes(part: WordPart, isFirst: boolean, shell: Shell): WordPart {
  if (part.type !== "Literal") return part;
  const texts = part.text.split(":");
  const values = part.value.split(":").map((value, at) =>
    at > 0 || isFirst ? tilde(value, texts[at] ?? "", shell) : value
  );
  return { ...part, value: values.join(":") };
}

function tilde(value: string, text: string, shell: Shell): string {
  if (!text.startsWith("~")) return value;
  const name = /^~[^/]*/.exec(value)![0];
  const rest = value.slice(name.length);
  if (name === "~") return shell.valuesOf("HOME")[0]! + rest;
  return (name === "~+" ? shell.cwd : ANY) + rest;
}
