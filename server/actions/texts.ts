import { createTwoFilesPatch, diffArrays } from "diff";

/**
 * Texts that differ in more lines are not compared, so that the event loop is not blocked. The limit
 * is no time-out: equal texts must give equal results on a busy machine.
 */
const LIMITS = { maxEditLength: 1_000 };

/** A range of old lines and the lines that replace it. */
interface Hunk {
  start: number;
  end: number;
  lines: string[];
}

/** The difference as a unified diff; null if the texts differ too much. */
export function unifiedDiff(
  path: string,
  before: string,
  after: string,
  to = path,
): string | null {
  const patch = createTwoFilesPatch(path, to, before, after, undefined, undefined, {
    context: 3,
    ...LIMITS,
  });
  return patch ?? null;
}

/**
 * The three-way merge of two texts with their merge base; null if both change the same lines in
 * different ways, or if the texts differ too much.
 */
export function mergeTexts(base: string, ours: string, theirs: string): string | null {
  const lines = linesOf(base);
  const mine = hunksOf(lines, linesOf(ours));
  const other = hunksOf(lines, linesOf(theirs));
  if (!mine || !other) return null;
  const hunks = combined(mine, other);
  return hunks && applied(lines, hunks);
}

function combined(mine: Hunk[], other: Hunk[]): Hunk[] | null {
  const all = [...mine, ...other].sort((a, b) => a.start - b.start || a.end - b.end);
  const result: Hunk[] = [];
  for (const hunk of all) {
    const last = result.at(-1);
    if (last && equal(last, hunk)) continue;
    // Adjacent hunks overlap: two insertions at one place have no defined order.
    if (last && hunk.start <= last.end) return null;
    result.push(hunk);
  }
  return result;
}

function applied(lines: readonly string[], hunks: readonly Hunk[]): string {
  const parts: (readonly string[])[] = [];
  let at = 0;
  for (const hunk of hunks) {
    parts.push(lines.slice(at, hunk.start), hunk.lines);
    at = hunk.end;
  }
  return [...parts, lines.slice(at)].flat().join("");
}

function hunksOf(base: string[], changed: string[]): Hunk[] | null {
  const parts = diffArrays(base, changed, LIMITS);
  if (!parts) return null;
  const hunks: Hunk[] = [];
  let at = 0;
  for (const part of parts) {
    if (!part.added && !part.removed) {
      at += part.value.length;
      continue;
    }
    const last = hunks.at(-1);
    const hunk = last?.end === at ? last : { start: at, end: at, lines: [] };
    if (hunk !== last) hunks.push(hunk);
    if (part.added) hunk.lines.push(...part.value);
    else hunk.end = at += part.value.length;
  }
  return hunks;
}

function equal(a: Hunk, b: Hunk): boolean {
  return a.start === b.start && a.end === b.end && a.lines.join("") === b.lines.join("");
}

/** The lines with their line ends, so that a missing last line end is a difference. */
function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}
