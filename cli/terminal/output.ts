import { styleText } from "node:util";
import type { Failure } from "../errors.ts";
import type { Io, Terminal } from "../io.ts";
import { safeLine, visibleJson, visibleLine } from "./visible.ts";
import { breakAt, displayWidth } from "./width.ts";

type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

/** Begins each line that continues a text of somebody else. The gate begins no line with it. */
const MARK = "│ ";

/** Writes lines to stdout. On a terminal a long line goes on behind a mark, not at the margin. */
export function print(io: Io, line = ""): void {
  write(io, line, io.stdout);
}

/** Writes lines to stderr, for messages that are not data. */
export function say(io: Io, line: string): void {
  write(io, line, io.stderr);
}

function write(io: Io, line: string, to: Terminal): void {
  const safe = safeLine(line);
  if (io.note) io.note(safe);
  else to.write(`${wrapped(safe, to)}\n`);
}

/** The text of an agent or a file, with each line marked, so that none passes for a line of gate. */
export function marked(text: string): string {
  return text.split("\n").map((line) => MARK + line).join("\n");
}

/** A value after `indent` columns: its further lines, and what a terminal wraps, are marked below it. */
export function markedBelow(text: string, indent: number, terminal: Width): string {
  const columns = widthOf(terminal) - indent;
  const rows = text.split("\n").flatMap((line, i) =>
    i === 0
      ? rowsOf(line, columns)
      : rowsOf(line, columns - MARK.length).map((row, j) => j === 0 ? MARK + row : row)
  );
  return rows.join(`\n${" ".repeat(indent)}`);
}

type Width = Pick<Terminal, "isTTY" | "columns">;

/** Fewer columns are no terminal that a person reads. */
const LEAST_COLUMNS = 20;

function wrapped(text: string, terminal: Terminal): string {
  const columns = widthOf(terminal);
  return columns === Infinity ? text : rowsOf(text, columns).join("\n");
}

/** The columns of a terminal; a file or pipe has no end. */
function widthOf({ isTTY, columns }: Width): number {
  return isTTY && columns !== undefined && columns >= LEAST_COLUMNS ? columns : Infinity;
}

/** The rows that a text fills on a terminal; what continues a long line stands behind a mark. */
export function rowsOf(text: string, columns: number): string[] {
  return text.split("\n").flatMap((line) => wrapLine(line, columns));
}

/** Breaks a line before a word where that is possible, and marks what follows. */
function wrapLine(line: string, columns: number): string[] {
  const parts: string[] = [];
  let rest = line;
  let room = columns;
  while (displayWidth(rest) > room) {
    const most = breakAt(rest, room);
    const blank = rest.lastIndexOf(" ", most - 1) + 1;
    const at = blank > most / 2 ? blank : most;
    parts.push(rest.slice(0, at));
    rest = rest.slice(at);
    room = columns - MARK.length;
  }
  return [...parts, rest].map((part, i) => i === 0 ? part : MARK + part);
}

/** Writes a value as JSON: indented on a terminal, on one line otherwise. */
export function printJson(io: Io, value: unknown): void {
  io.stdout.write(`${visibleJson(value, io.stdout.isTTY ? 2 : 0)}\n`);
}

/** Colours text if the output is a terminal with colours and `NO_COLOR` is not set. */
export function paint(io: Io, style: Style, text: string): string {
  return wantsColour(io) ? styleText(style, text, { validateStream: false } as object) : text;
}

function wantsColour(io: Io): boolean {
  if (io.env.NO_COLOR) return false;
  return io.stdout.isTTY === true && io.env.TERM !== "dumb";
}

/** Rows as text, each column as wide as its widest cell; no line ends with spaces. */
export function table(rows: string[][]): string {
  const widths = columnWidths(rows);
  return rows.map((row) =>
    row.map((cell, i) => cell + " ".repeat(widths[i]! - displayWidth(cell))).join("  ").trimEnd()
  ).join("\n");
}

/** The width of each column of a table. */
export function columnWidths(rows: string[][]): number[] {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, i) => widths[i] = Math.max(widths[i] ?? 0, displayWidth(cell)));
  }
  return widths;
}

/** A count with its noun: `1 file`, `2 files`. */
export function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? "" : "s"}`;
}

/** A number of bytes with its unit. */
export function sizeOf(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const mib = bytes / 1024 / 1024;
  return mib < 1 ? `${Math.ceil(bytes / 1024)} KiB` : `${mib.toFixed(1)} MiB`;
}

/** The time since `at` in its largest whole unit: `4s`, `12m`, `3h`, `9d`. */
export function ago(at: string, now: number): string {
  const seconds = Math.max(0, Math.round((now - Date.parse(at)) / 1000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}

/** Prints a failure and the next command to stderr. */
export function sayFailure(io: Io, { problem = "", next }: Failure): void {
  io.stderr.write(`gate: ${visibleLine(problem)}\n`);
  if (next) io.stderr.write(`  try: ${visibleLine(next)}\n`);
}
