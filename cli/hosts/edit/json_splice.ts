import { createScanner, type Node } from "jsonc-parser";
import { isRecord } from "./text_editor.ts";

const COMMA = 5;
const END = 17;

/** A value to insert at the end of an object or a list. */
export interface Insertion {
  root: Node;
  object: Node;
  /** Null for an element of a list. */
  key: string | null;
  value: unknown;
}

/** The text with one more property or element at the end, in the style of its neighbours. */
export function insertProperty(text: string, { root, object, key, value }: Insertion): string {
  const style = styleOf(text, root);
  const close = object.offset + object.length - 1;
  const last = object.children?.at(-1);
  const begin = last ? last.offset + last.length : object.offset + 1;
  const tail = text.slice(begin, close);
  const at = begin + tail.trimEnd().length;
  const comma = last ? findComma(text, begin, close) : null;
  const missing = last && comma === null ? "," : "";
  // A list that ends with a comma keeps one at its end.
  const trailing = comma === null ? "" : ",";
  if (!isSpread(text, object, style)) {
    const name = key === null ? "" : `${JSON.stringify(key)}:${style.space}`;
    const rendered = name + compact(value, style.space);
    const property = `${last ? style.space : ""}${rendered}${trailing}`;
    return text.slice(0, begin) + missing + text.slice(begin, at) + property + text.slice(at);
  }
  const outer = indentOfLine(text, object.offset);
  const indent = last ? indentOfLine(text, object.children![0]!.offset) : outer + style.unit;
  const rendered = render(value, { ...style, indent });
  const name = key === null ? "" : `${JSON.stringify(key)}: `;
  const property = `${style.eol}${indent}${name}${rendered}`;
  const isOpen = text.slice(at, close).includes("\n");
  const added = `${property}${trailing}${isOpen ? "" : style.eol + outer}`;
  const place = isOpen ? at : close;
  return text.slice(0, begin) + missing + text.slice(begin, place) + added + text.slice(place);
}

/** The text with another value for a property. */
export function replaceValue(
  text: string,
  { root, property, value }: { root: Node; property: Node; value: unknown },
): string {
  const old = property.children![1]!;
  const style = styleOf(text, root);
  const isSpreadOut = text.slice(old.offset, old.offset + old.length).includes("\n");
  const rendered = isSpreadOut
    ? render(value, { ...style, indent: indentOfLine(text, property.offset) })
    : compact(value, style.space);
  return text.slice(0, old.offset) + rendered + text.slice(old.offset + old.length);
}

/** The text without a property or an element and its comma; comments around it stay. */
export function removeProperty(text: string, object: Node, property: Node): string {
  const properties = object.children!;
  const index = properties.indexOf(property);
  const close = object.offset + object.length - 1;
  const stop = property.offset + property.length;
  const next = properties[index + 1];
  const previous = properties[index - 1];
  const after = findComma(text, stop, next?.offset ?? close);
  const before = previous && after === null
    ? findComma(text, previous.offset + previous.length, property.offset)
    : null;
  const comma = after ?? before;
  const isNext = comma !== null && text.slice(stop, comma).trim() === "" && comma >= stop;
  const [from, to] = wholeLine(text, property.offset, isNext ? comma + 1 : stop);
  let result = text.slice(0, from) + text.slice(to);
  if (comma !== null && !isNext) {
    const moved = comma < from ? comma : comma - (to - from);
    result = result.slice(0, moved) + result.slice(moved + 1);
  }
  return properties.length === 1 ? collapse(result, object.offset) : result;
}

interface Style {
  eol: string;
  unit: string;
  /** The space after a colon or a comma on one line. */
  space: string;
  isOneLine: boolean;
}

function styleOf(text: string, root: Node): Style {
  const whole = text.slice(root.offset, root.offset + root.length);
  const first = root.children?.[0];
  const indent = first && whole.slice(0, first.offset - root.offset).includes("\n")
    ? indentOfLine(text, first.offset)
    : "";
  return {
    eol: text.includes("\r\n") ? "\r\n" : "\n",
    unit: indent.startsWith("\t") ? "\t" : indent || "  ",
    space: first && !/^"(?:[^"\\]|\\.)*"\s*:\s/.test(text.slice(first.offset)) ? "" : " ",
    isOneLine: Boolean(first) && !whole.includes("\n"),
  };
}

/** Whether an object has each property on its own line, or gets them so. */
function isSpread(text: string, object: Node, style: Style): boolean {
  const first = object.children?.[0];
  const last = object.children?.at(-1);
  if (!first || !last) {
    return !style.isOneLine ||
      text.slice(object.offset, object.offset + object.length).includes("\n");
  }
  const close = object.offset + object.length - 1;
  return text.slice(object.offset, first.offset).includes("\n") ||
    text.slice(last.offset + last.length, close).includes("\n");
}

function render(value: unknown, { eol, unit, indent }: Style & { indent: string }): string {
  return JSON.stringify(value, null, unit).replaceAll("\n", eol + indent);
}

function compact(value: unknown, space: string): string {
  if (Array.isArray(value)) return `[${value.map((one) => compact(one, space)).join(`,${space}`)}]`;
  if (!isRecord(value)) return JSON.stringify(value);
  const properties = Object.entries(value).map(([key, inner]) =>
    `${JSON.stringify(key)}:${space}${compact(inner, space)}`
  );
  return `{${properties.join(`,${space}`)}}`;
}

function indentOfLine(text: string, offset: number): string {
  const start = text.lastIndexOf("\n", offset - 1) + 1;
  return /^[ \t]*/.exec(text.slice(start, offset))![0];
}

/** The offset of the first comma in this range outside of comments, or null. */
function findComma(text: string, from: number, to: number): number | null {
  const scanner = createScanner(text.slice(from, to));
  for (let kind = scanner.scan(); kind !== END; kind = scanner.scan()) {
    if (kind === COMMA) return from + scanner.getTokenOffset();
  }
  return null;
}

/** The range, grown to its whole lines when they hold nothing else, otherwise by its blanks. */
function wholeLine(text: string, from: number, to: number): [number, number] {
  const start = text.lastIndexOf("\n", from - 1) + 1;
  const newline = text.indexOf("\n", to);
  const end = newline < 0 ? text.length : newline + 1;
  const isAlone = text.slice(start, from).trim() === "" && text.slice(to, end).trim() === "";
  if (isAlone && start > 0) return [start, end];
  const blanks = /^[ \t]*/.exec(text.slice(to))![0].length;
  if (blanks > 0) return [from, to + blanks];
  return [from - /[ \t]*$/.exec(text.slice(start, from))![0].length, to];
}

/** Writes an empty object or list as `{}` or `[]`, unless it holds a comment. */
function collapse(text: string, open: number): string {
  const blanks = /^\s*(?=[\]}])/.exec(text.slice(open + 1));
  return blanks ? text.slice(0, open + 1) + text.slice(open + 1 + blanks[0].length) : text;
}
