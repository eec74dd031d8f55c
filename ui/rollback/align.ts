import { type Change, findChanges } from "../../server/shown/line_diff.ts";

/** A row of three texts side by side; a text without a line here has null. */
export interface AlignedRow {
  cells: readonly [string | null, string | null, string | null];
  isSame: boolean;
}

/** Puts the lines of three texts side by side; the second is the one that both others are compared with. */
export function alignThree(
  first: readonly string[],
  middle: readonly string[],
  last: readonly string[],
): AlignedRow[] {
  const others = [first, last].map((lines) => ({
    lines,
    at: 0,
    changes: findChanges(middle, lines).changes,
  }));
  const rows: AlignedRow[] = [];
  let at = 0;
  const same = (end: number) => {
    for (const line of middle.slice(at, end)) {
      rows.push({ cells: [line, line, line], isSame: true });
    }
    for (const other of others) other.at += end - at;
    at = end;
  };
  for (const { from, to } of regionsOf(others.flatMap(({ changes }) => changes))) {
    same(from);
    const parts = others.map((other) => {
      const end = other.at + to - from + growthOf(other.changes, from, to);
      const lines = other.lines.slice(other.at, end);
      other.at = end;
      return lines;
    });
    const [before, after] = [parts[0]!, parts[1]!];
    const length = Math.max(before.length, to - from, after.length);
    for (let row = 0; row < length; row++) {
      const own = from + row < to ? middle[from + row]! : null;
      rows.push({ cells: [before[row] ?? null, own, after[row] ?? null], isSame: false });
    }
    at = to;
  }
  same(middle.length);
  return rows;
}

/** The parts of the middle text that either change touches, in order. */
function regionsOf(changes: readonly Change[]): { from: number; to: number }[] {
  const regions: { from: number; to: number }[] = [];
  for (const { fromA, toA } of changes.toSorted((a, b) => a.fromA - b.fromA)) {
    const last = regions.at(-1);
    if (last && fromA <= last.to) last.to = Math.max(last.to, toA);
    else regions.push({ from: fromA, to: toA });
  }
  return regions;
}

function growthOf(changes: readonly Change[], from: number, to: number): number {
  return changes.filter(({ fromA, toA }) => fromA >= from && toA <= to)
    .reduce((sum, { fromA, toA, fromB, toB }) => sum + toB - fromB - (toA - fromA), 0);
}
