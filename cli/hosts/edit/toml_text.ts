import { parse, TomlDate, TomlError } from "smol-toml";
import { CliError } from "../../errors.ts";
import { type Change, isRecord, type TextEditor, valueAt } from "./text_editor.ts";
import { endOfLine, scanToml, type TomlPair, type TomlTable } from "./toml_scan.ts";

/** TOML, edited only in the text of the changed tables. */
export const TOML_TEXT: TextEditor = { read, change };

function read(text: string, file: string): Record<string, unknown> {
  try {
    return parse(text, { integersAsBigInt: "asNeeded" });
  } catch (error) {
    const why = error instanceof TomlError
      ? `${error.message.split("\n")[0]} at line ${error.line}, column ${error.column}`
      : (error as Error).message;
    throw new CliError(`Cannot read "${file}": ${why}`, {
      next: `correct ${file}, then the same command`,
    });
  }
}

function change(text: string, { path, value }: Change, file: string): string {
  const tables = scanToml(text);
  if (value === undefined) return removeInline(text, tables, path) ?? remove(text, tables, path);
  const pair = findPair(tables, path);
  if (pair) return text.slice(0, pair.value_start) + render(value) + text.slice(pair.value_end);
  if (isRecord(value)) return appendTable(text, path, value);
  const key = path.at(-1)!;
  const parent = path.slice(0, -1);
  const table = findTable(tables, parent);
  if (table) return insertPair(text, table, key, value);
  const inline = findPair(tables, parent);
  if (inline) {
    const known = valueAt(read(text, file), parent) as Record<string, unknown>;
    const whole = render({ ...known, [key]: value });
    return text.slice(0, inline.value_start) + whole + text.slice(inline.value_end);
  }
  const above = findTable(tables, parent.slice(0, -1));
  if (above) return insertPair(text, above, parent.at(-1)!, { [key]: value });
  const name = parent.join(".");
  throw new CliError(
    `Cannot edit "${file}": ${name} is written in a way that gate does not edit`,
    { next: `give it a table of its own, [${name}], then the same command` },
  );
}

function findTable(tables: TomlTable[], path: readonly string[]): TomlTable | undefined {
  return tables.find((table) => !table.is_array && isSame(table.path, path));
}

function findPair(tables: TomlTable[], path: readonly string[]): TomlPair | undefined {
  return tables.flatMap((table) =>
    table.is_array ? [] : table.pairs.filter(({ key }) => isSame([...table.path, ...key], path))
  )[0];
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && startsWith(a, b);
}

function startsWith(path: readonly string[], start: readonly string[]): boolean {
  return start.every((key, i) => path[i] === key);
}

/** Appends a table at the end of the document, where no other table claims its pairs. */
function appendTable(text: string, path: readonly string[], value: object): string {
  const eol = eolOf(text);
  const lines = [`[${path.map(renderKey).join(".")}]`];
  for (const [key, inner] of Object.entries(value)) {
    if (inner !== undefined) lines.push(`${renderKey(key)} = ${render(inner)}`);
  }
  if (text.trim() === "") return `${text}${lines.join(eol)}${eol}`;
  // A file without a final line break stays so.
  const isEnded = text.endsWith("\n");
  return `${text}${isEnded ? "" : eol}${eol}${lines.join(eol)}${isEnded ? eol : ""}`;
}

function insertPair(text: string, table: TomlTable, key: string, value: unknown): string {
  const last = table.pairs.at(-1);
  const line = `${renderKey(key)} = ${render(value)}`;
  const eol = eolOf(text);
  if (!last && table.path.length === 0) return `${line}${eol}${text}`;
  const start = last?.start ?? table.start;
  const indent = /[ \t]*$/.exec(text.slice(0, start))![0];
  const at = endOfLine(text, last?.value_end ?? table.header_end);
  return text.slice(0, at) + eol + indent + line + text.slice(at);
}

/** Removes the tables and pairs at and below a path; comments between them stay. */
function remove(text: string, tables: TomlTable[], path: readonly string[]): string {
  const ranges: [number, number][] = [];
  for (const table of tables) {
    const isWhole = table.path.length > 0 && startsWith(table.path, path);
    if (isWhole) ranges.push([table.start, table.header_end]);
    for (const { key, start, value_end } of table.pairs) {
      if (isWhole || startsWith([...table.path, ...key], path)) ranges.push([start, value_end]);
    }
  }
  return ranges.reverse().reduce((rest, range) => cutLines(rest, range), text);
}

/** The text without one key of an inline table; null when there is no such table. */
function removeInline(text: string, tables: TomlTable[], path: readonly string[]): string | null {
  const inline = findPair(tables, path.slice(0, -1));
  if (!inline) return null;
  const known = valueAt(read(text, ""), path.slice(0, -1)) as Record<string, unknown>;
  const left = Object.entries(known).filter(([key]) => key !== path.at(-1));
  const whole = render(Object.fromEntries(left));
  return text.slice(0, inline.value_start) + whole + text.slice(inline.value_end);
}

function cutLines(text: string, [from, to]: [number, number]): string {
  const start = text.lastIndexOf("\n", from - 1) + 1;
  const stop = endOfLine(text, to);
  // A comment after the value stays, on its own line.
  const comment = text.slice(to, stop).trim();
  if (comment) return text.slice(0, from) + comment + text.slice(stop);
  const newline = text.indexOf("\n", stop);
  const end = newline < 0 ? text.length : newline + 1;
  const before = text.slice(0, start);
  const isHeader = text[from] === "[";
  const gap = isHeader ? /(?:\r?\n)(?=(\r?\n)$)/.exec(before)?.[0].length ?? 0 : 0;
  return before.slice(0, before.length - gap) + text.slice(end);
}

function eolOf(text: string): string {
  return text.includes("\r\n") ? "\r\n" : "\n";
}

function renderKey(key: string): string {
  return /^[A-Za-z0-9_-]+$/.test(key) ? key : renderString(key);
}

function render(value: unknown): string {
  if (typeof value === "string") return renderString(value);
  if (Array.isArray(value)) return `[${value.map(render).join(", ")}]`;
  if (value instanceof TomlDate) return value.toISOString();
  if (isRecord(value)) {
    const pairs = Object.entries(value).map(([key, inner]) =>
      `${renderKey(key)} = ${render(inner)}`
    );
    return pairs.length === 0 ? "{}" : `{ ${pairs.join(", ")} }`;
  }
  return String(value);
}

function renderString(value: string): string {
  return JSON.stringify(value).replaceAll("\u007f", "\\u007f");
}
