import { CliError } from "../../errors.ts";

/**
 * One value of a document; `undefined` takes it away. In a list of JSON a key is the number of the
 * element, or `-` for one more at the end.
 */
export interface Change {
  path: readonly string[];
  value: unknown;
}

/** Edits documents of one format and leaves every byte that is not meant as it is. */
export interface TextEditor {
  /** What the document says. @throws CliError with the line of the first fault */
  read(text: string, file: string): Record<string, unknown>;
  /** @throws CliError when the document is written in a way that cannot be edited safely */
  change(text: string, change: Change, file: string): string;
}

/**
 * The document with those changes. What comes out is read again and compared with what was meant,
 * so a way of writing that the editor does not understand is an error and never a damaged file.
 * @throws CliError
 */
export function editText(
  editor: TextEditor,
  text: string,
  changes: readonly Change[],
  file: string,
): string {
  let meant = editor.read(text, file);
  let after = text;
  for (const change of changes) {
    after = editor.change(after, change, file);
    meant = withChange(meant, change.path, change.value) as Record<string, unknown>;
  }
  let got: unknown;
  try {
    got = editor.read(after, file);
  } catch {
    got = undefined;
  }
  if (canonical(got) === canonical(meant)) return after;
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

/** Where a text has an offset, for people. */
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

/** Whether a key stands for an element of a list. */
export function isElement(key: string): boolean {
  return /^(-|\d{1,9})$/.test(key);
}

function withElement(list: unknown[], key: string, rest: string[], to: unknown): unknown[] {
  if (key === "-") return [...list, to];
  const changed = list.map((one, i) => String(i) === key ? withChange(one, rest, to) : one);
  return changed.filter((one) => one !== undefined);
}

/**
 * Two values that differ in nothing but the order of keys look the same; so do an empty table and
 * none, since TOML has no way to write the first where tables have headers.
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
