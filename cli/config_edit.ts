import { applyEdits, modify, parse, type ParseError } from "jsonc-parser";
import { sayParseError } from "../server/config/load.ts";
import { CliError } from "./errors.ts";

/** One key of a config document with the value it shall have. */
export interface Wanted {
  path: (string | number)[];
  value: unknown;
}

/** The value of a JSON document that may hold comments. @throws CliError with line and column */
export function readConfig(text: string, file: string): Record<string, unknown> {
  const errors: ParseError[] = [];
  const value: unknown = parse(text, errors, { allowTrailingComma: true });
  const first = errors[0];
  if (first) {
    const before = text.slice(0, first.offset).split("\n");
    const at = `line ${before.length}, column ${before.at(-1)!.length + 1}`;
    throw new CliError(`Cannot read "${file}": ${sayParseError(first)} at ${at}`, {
      next: `correct ${file}, then the same command`,
    });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new CliError(`Cannot read "${file}": it holds no object`);
  }
  return value as Record<string, unknown>;
}

/** The text with those keys set; comments, order and every other key stay as they are. */
export function editConfig(text: string, wanted: Wanted[]): string {
  const formattingOptions = { insertSpaces: true, tabSize: 2, eol: "\n" };
  return wanted.reduce(
    (current, { path, value }) =>
      applyEdits(current, modify(current, path, value, { formattingOptions })),
    text,
  );
}

const LINE_WIDTH = 100;

/** A new document as a person would write it: what fits on a line stands on one. */
export function formatConfig(value: unknown, indent = ""): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const inner = `${indent}  `;
  const parts = Array.isArray(value)
    ? value.map((item) => formatConfig(item, inner))
    : Object.entries(value).map(([key, item]) =>
      `${JSON.stringify(key)}: ${formatConfig(item, inner)}`
    );
  const [open, close, space] = Array.isArray(value) ? ["[", "]", ""] : ["{", "}", " "];
  if (parts.length === 0) return open + close;
  const line = open + space + parts.join(", ") + space + close;
  const fits = !line.includes("\n") && indent.length + line.length < LINE_WIDTH;
  // The document itself always has a line for each key.
  if (fits && indent !== "") return line;
  return `${open}\n${inner}${parts.join(`,\n${inner}`)}\n${indent}${close}`;
}

/** A line diff for people: what is taken away and what is added, with the lines that stay left out. */
export function lineDiff(before: string, after: string): string[] {
  const old = before.split("\n");
  const next = after.split("\n");
  const lengths = commonLengths(old, next);
  const lines: string[] = [];
  let i = 0, j = 0;
  while (i < old.length || j < next.length) {
    if (i < old.length && j < next.length && old[i] === next[j]) i++, j++;
    else if (j >= next.length || (i < old.length && lengths[i + 1]![j]! >= lengths[i]![j + 1]!)) {
      lines.push(`- ${old[i++]}`);
    } else lines.push(`+ ${next[j++]}`);
  }
  return lines;
}

function commonLengths(a: string[], b: string[]): number[][] {
  const table = Array.from({ length: a.length + 1 }, () => new Array<number>(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      table[i]![j] = a[i] === b[j]
        ? table[i + 1]![j + 1]! + 1
        : Math.max(table[i + 1]![j]!, table[i]![j + 1]!);
    }
  }
  return table;
}
