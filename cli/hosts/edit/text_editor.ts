import { CliError } from "../../errors.ts";

/**
 * A new value at a path of a document; `undefined` removes the path. In a JSON list a key is the
 * index of an element, or `-` to append one.
 */
export interface Change {
  path: readonly string[];
  value: unknown;
}

/** Edits documents of one format and keeps every other byte. */
export interface TextEditor {
  /** Parses the document. @throws CliError with the line of the first error */
  read(text: string, file: string): Record<string, unknown>;
  /** @throws CliError when the style of the document cannot be edited safely */
  change(text: string, change: Change, file: string): string;
}

/**
 * The document with those changes. The result is parsed and compared with the intended document, so
 * a style that the editor does not know is an error and never damages a file. @throws CliError
 */
export function editText(
  editor: TextEditor,
  text: string,
  changes: readonly Change[],
  file: string,
): string {
  let intended = editor.read(text, file);
  let after = text;
  for (const change of changes) {
    after = editor.change(after, change, file);
    intended = withChange(intended, change.path, change.value) as Record<string, unknown>;
  }
  let result: unknown;
  try {
    result = editor.read(after, file);
  } catch {
    result = undefined;
  }
  if (canonical(result) === canonical(intended)) return after;
  throw new CliError(`Cannot edit "${file}": it is written in a way that gate cannot edit safely`, {
    next: `change it by hand, or with the host's own command`,
  });
}

/** The value at a path, or undefined. */
export function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce((inner, key) => {
    if (Array.isArray(inner) && isElement(key)) return inner[Number(key)];
    return isRecord(inner) ? ownValue(inner, key) : undefined;
  }, value);
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The line and column of an offset, for people. */
export function lineOf(text: string, offset: number): string {
  const before = text.slice(0, offset).split("\n");
  return `line ${before.length}, column ${before.at(-1)!.length + 1}`;
}

function ownValue(record: Record<string, unknown>, key: string): unknown {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

function withChange(value: unknown, [key, ...rest]: readonly string[], to: unknown): unknown {
  if (key === undefined) return to;
  if (Array.isArray(value) && isElement(key)) return withElement(value, key, rest, to);
  const record = isRecord(value) ? value : {};
  if (to === undefined && !Object.hasOwn(record, key)) return value;
  const inner = withChange(ownValue(record, key), rest, to);
  const entries = Object.entries(record).filter(([name]) => name !== key);
  return Object.fromEntries(inner === undefined ? entries : [...entries, [key, inner]]);
}

/** Whether a key is an index of a list. */
export function isElement(key: string): boolean {
  return /^(-|\d{1,9})$/.test(key);
}

function withElement(list: unknown[], key: string, rest: string[], to: unknown): unknown[] {
  if (key === "-") return [...list, to];
  const changed = list.map((one, i) => String(i) === key ? withChange(one, rest, to) : one);
  return changed.filter((one) => one !== undefined);
}

/**
 * A text that is the same for documents that differ only in the order of keys or in empty tables:
 * TOML with table headers cannot write an empty table.
 */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner) => {
    if (typeof inner === "bigint") return `${inner}n`;
    if (!isRecord(inner) || inner instanceof Date) return inner;
    const entries = Object.entries(inner).filter(([, one]) => !isEmpty(one));
    return Object.fromEntries(entries.sort(([a], [b]) => a < b ? -1 : 1));
  }) ?? "undefined";
}

function isEmpty(value: unknown): boolean {
  return isRecord(value) && !(value instanceof Date) && Object.values(value).every(isEmpty);
}
