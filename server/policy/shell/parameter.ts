import type { ParameterExpansionPart, ParameterOperation, Word } from "unbash";
import { compileSegment, matchSegment } from "../glob.ts";
import { ANY, asOneWord, DEEP, isStatic, isWild, QUESTION, STAR, TAME } from "../holes.ts";
import type { Context } from "./expand.ts";
import { listOf } from "./lists.ts";
import { homesIn } from "./tilde.ts";

type ExpandText = (word: Word, context: Context) => string[];

/** The values of `${…}`; items of a list are parted by marks. */
export function expandParameter(
  part: ParameterExpansionPart,
  quoted: boolean,
  context: Context,
  expandText: ExpandText,
): string[] {
  const index = part.index ? expandText(part.index, context) : [];
  for (const text of index) context.reevaluate(text);
  const values = baseValues(part, index[0], quoted, context);
  if (part.prefix === "#") return values.map((value) => isStatic(value) ? `${value.length}` : TAME);
  return part.operation ? operate(part, values, context, expandText) : values;
}

function baseValues(
  part: ParameterExpansionPart,
  index: string | undefined,
  quoted: boolean,
  { shell }: Context,
): string[] {
  if (part.prefix === "#" && (index === "@" || index === "*")) return [TAME];
  const list = listOf(shell, part.parameter, index, quoted);
  if (list !== null && part.prefix !== "!") return list;
  const values = list ?? shell.valuesOf(part.parameter);
  if (part.prefix !== "!") return values;
  return values.flatMap((name) => /^\w+$/.test(name) ? shell.valuesOf(name) : [ANY]);
}

function operate(
  part: ParameterExpansionPart,
  values: string[],
  context: Context,
  expandText: ExpandText,
): string[] {
  const operation = part.operation!;
  switch (operation.type) {
    case "Default": {
      const operand = homesIn(operation.operand, context.shell);
      return withDefault(part, operation, values, expandText(operand, context), context);
    }
    case "Remove": {
      const pattern = expandText(operation.operand, context)[0]!;
      return values.map((value) => remove(value, operation.operator, pattern));
    }
    case "Replace":
      return replaceAll(values, operation, context, expandText);
    case "Slice":
      return slice(values, operation, context, expandText);
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
  { shell }: Context,
): string[] {
  const isSet = shell.variables.has(part.parameter) || /^(HOME|PWD)$/.test(part.parameter) ||
    (/^\d+$/.test(part.parameter) && Number(part.parameter) <= shell.positional.length);
  const certain = isSet && values.every((value) => isStatic(value) && value !== "");
  const nothing = /^[\d@*]$/.test(part.parameter) && shell.positional.length === 0;
  if (operator.endsWith("+")) return certain ? operand : nothing ? [""] : ["", ...operand];
  if (operator.endsWith("?") || certain) return values;
  if (isSet && !operator.startsWith(":") && values.every(isStatic)) {
    // An empty one may have been unset.
    return values.includes("") ? [...values, ...operand] : values;
  }
  const either = nothing ? operand : [...values.filter((value) => value !== ""), ...operand];
  if (operator.endsWith("=")) shell.assign(part.parameter, either);
  return either;
}

/** `+(…)` and its like mean something else when `extglob` is on. */
const EXTENDED = /[?*+@!\uFDD4\uFDD5]\(/;

/** What is left when the shape of a value is known but not its letters. */
function vague(value: string): string {
  return isWild(value) ? ANY : DEEP;
}

/** `${x#p}` and its like, with the longest or shortest match tried by hand: values are short. */
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
  expandText: ExpandText,
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
  expandText: ExpandText,
): string[] {
  const offset = expandText(operation.offset, context)[0]!;
  const length = operation.length ? expandText(operation.length, context)[0]! : null;
  context.reevaluate(offset);
  if (length !== null) context.reevaluate(length);
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
