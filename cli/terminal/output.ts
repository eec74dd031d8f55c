import { styleText } from "node:util";
import type { Failure } from "../errors.ts";
import type { Io } from "../io.ts";
import { visibleJson, visibleLine } from "./visible.ts";
import { displayWidth } from "./width.ts";

type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

/** Writes one line to stdout. */
export function print(io: Io, line = ""): void {
  io.stdout.write(`${line}\n`);
}

/** Writes one line to stderr, for messages that are not data. */
export function say(io: Io, line: string): void {
  io.stderr.write(`${line}\n`);
}

/** Writes a value as JSON: indented on a terminal, on one line otherwise. */
export function printJson(io: Io, value: unknown): void {
  print(io, visibleJson(value, io.stdout.isTTY ? 2 : 0));
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
