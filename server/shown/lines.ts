import { findChanges } from "./line_diff.ts";

/** The lines of one of two compared texts. */
export interface Side {
  lines: string[];
  newline: boolean;
  endings: string;
}

/** The lines of two texts; null means that no file exists. Line ends that are the same do not count. */
export function sidesOf(before: string | null, after: string | null): [Side, Side] {
  const [a, b] = [sideOf(before), sideOf(after)];
  if (a.endings === "CRLF" && b.endings === "CRLF") stripReturns(a, b);
  return [a, b];
}

/** The numbers of added and removed lines. */
export interface LineCounts {
  added: number;
  removed: number;
}

/** Counts the lines as the diff of a card does; null if the comparison would take too long. */
export function countLines(before: string | null, after: string | null): LineCounts | null {
  const [a, b] = sidesOf(before, after);
  const { changes, isRough } = findChanges(a.lines, b.lines, MOST_CELLS);
  if (isRough) return null;
  const last = changes.at(-1);
  const isLastKept = a.lines.length > 0 && b.lines.length > 0 && last?.toA !== a.lines.length &&
    last?.toB !== b.lines.length;
  // A last line that only gained or lost its newline counts as removed and added.
  const more = isLastKept && a.newline !== b.newline ? 1 : 0;
  return {
    added: changes.reduce((sum, { fromB, toB }) => sum + toB - fromB, more),
    removed: changes.reduce((sum, { fromA, toA }) => sum + toA - fromA, more),
  };
}

/** Some milliseconds: 4,096 different lines against as many others. */
const MOST_CELLS = 2 ** 24;

function sideOf(text: string | null): Side {
  if (text === null || text === "") return { lines: [], newline: true, endings: "none" };
  const newline = text.endsWith("\n");
  const lines = text.split("\n");
  if (newline) lines.pop();
  const breaks = newline ? lines : lines.slice(0, -1);
  const returns = breaks.filter((line) => line.endsWith("\r")).length;
  const endings = breaks.length === 0
    ? "none"
    : returns === 0
    ? "LF"
    : returns === breaks.length
    ? "CRLF"
    : "mixed";
  return { lines, newline, endings };
}

function stripReturns(...sides: Side[]): void {
  for (const side of sides) side.lines = side.lines.map((line) => line.replace(/\r$/, ""));
}
