import { styleText } from "node:util";
import type { Io } from "../io.ts";
import { visibleJson } from "./visible.ts";
import { displayWidth } from "./width.ts";

type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

/** Writes one line to stdout. */
export function print(io: Io, line = ""): void {
  io.stdout.write(`${line}\n`);
}

/** Writes one line to stderr, where what is not data belongs. */
export function say(io: Io, line: string): void {
  io.stderr.write(`${line}\n`);
}

/** Writes a value as JSON: indented for people, one line when piped. */
export function printJson(io: Io, value: unknown): void {
  print(io, visibleJson(value, io.stdout.isTTY ? 2 : 0));
}

/** Colours text, on a terminal that wants colours only. */
export function paint(io: Io, style: Style, text: string): string {
  return wantsColour(io) ? styleText(style, text, { validateStream: false } as object) : text;
}

function wantsColour(io: Io): boolean {
  if (io.env.NO_COLOR) return false;
  return io.stdout.isTTY === true && io.env.TERM !== "dumb";
}

/** Columns padded to the widest cell; no line ends in blanks. */
export function table(rows: string[][]): string {
  const widths = columnWidths(rows);
  return rows.map((row) =>
    row.map((cell, i) => cell + " ".repeat(widths[i]! - displayWidth(cell))).join("  ").trimEnd()
  ).join("\n");
}

/** How wide each column of a table is. */
export function columnWidths(rows: string[][]): number[] {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, i) => widths[i] = Math.max(widths[i] ?? 0, displayWidth(cell)));
  }
  return widths;
}

/** `1 file`, `2 files`. */
export function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? "" : "s"}`;
}

/** How long ago, in the largest unit that fits: `4s`, `12m`, `3h`, `9d`. */
export function ago(at: string, now: number): string {
  const seconds = Math.max(0, Math.round((now - Date.parse(at)) / 1000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}
