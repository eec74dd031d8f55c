import { countHidden } from "../../server/shown/visible.ts";
import { type Change, findChanges } from "../../server/shown/line_diff.ts";
import { type Side, sidesOf } from "../../server/shown/lines.ts";

/** One line of a diff; `marks` are the parts that changed inside it. */
export interface Line {
  kind: "same" | "add" | "del" | "note";
  a: number | null;
  b: number | null;
  text: string;
  marks: readonly (readonly [number, number])[];
}

/** Consecutive lines; `fold` is the label of folded ones. */
export type Part = { fold: null; lines: Line[] } | { fold: string; lines: Line[] };

/** A diff, ready to show. */
export interface DiffModel {
  parts: Part[];
  added: number;
  removed: number;
  /** Hidden characters on added lines. */
  hidden: number;
  /** Lines that are shown as unchanged although their spaces or tabs differ. */
  respaced: number;
  /** Facts that the lines do not show: line endings, a missing last newline. */
  facts: string[];
}

const CONTEXT = 3;
const FOLD_FROM = 8;
const BLANK_RUN = 100;

/**
 * Compares two texts; null means that no file exists. With `skips_blanks`, lines that differ only in
 * spaces and tabs count as unchanged.
 */
export function createDiff(
  before: string | null,
  after: string | null,
  { skips_blanks = false } = {},
): DiffModel {
  const [a, b] = sidesOf(before, after);
  const keysOf = ({ lines }: Side) => skips_blanks ? lines.map(withoutBlanks) : lines;
  const { changes, isRough } = findChanges(keysOf(a), keysOf(b));
  const lines = withLastLine(changed(a.lines, b.lines, changes), a, b);
  const added = lines.filter((line) => line.kind === "add");
  const respaced = skips_blanks ? countRespaced(lines, a.lines) : 0;
  return {
    parts: fold(lines),
    added: added.length,
    removed: lines.filter((line) => line.kind === "del").length,
    hidden: added.reduce((sum, line) => sum + hiddenIn(line.text), 0),
    respaced,
    facts: [
      ...isRough ? [ROUGH] : [],
      ...respaced > 0 ? [`${respaced} with other spaces or tabs not marked`] : [],
      ...factsOf(before, after, a, b),
    ],
  };
}

function withoutBlanks(line: string): string {
  return line.replace(/[ \t]+/g, "");
}

function countRespaced(lines: readonly Line[], before: readonly string[]): number {
  return lines.filter(({ kind, a, text }) => kind === "same" && before[a! - 1] !== text).length;
}

const ROUGH = "too long to compare whole: some lines may be equal and still count as changed";

function changed(a: string[], b: string[], changes: readonly Change[]): Line[] {
  const lines: Line[] = [];
  let nextA = 0;
  let nextB = 0;
  const keep = (until: number) => {
    while (nextA < until) lines.push(plainLine("same", ++nextA, nextB + 1, b[nextB++]!));
  };
  for (const { fromA, toA, fromB, toB } of changes) {
    keep(fromA);
    const removed = a.slice(fromA, toA);
    const added = b.slice(fromB, toB);
    const spans = spansOf(removed, added);
    // push(...lines) would overflow the stack with 100,000 lines.
    for (const line of cut("del", removed, fromA + 1, spans.removed)) lines.push(line);
    for (const line of cut("add", added, fromB + 1, spans.added)) lines.push(line);
    nextA = toA;
    nextB = toB;
  }
  keep(a.length);
  return lines;
}

function cut(kind: "add" | "del", texts: string[], first: number, spans: Spans): Line[] {
  let start = 0;
  return texts.map((text, at) => {
    const marks = spans
      .map(([from, to]) => [Math.max(0, from - start), Math.min(text.length, to - start)] as const)
      .filter(([from, to]) => from < to);
    start += text.length + 1;
    const marked = marks.map(([from, to]) => text.slice(from, to)).join("");
    const line = kind === "add"
      ? plainLine(kind, null, first + at, text)
      : plainLine(kind, first + at, null, text);
    // A line that changed almost completely is easier to read without marks. Blanks need them.
    const isClear = marked.trim() === "" || marked.length <= text.trim().length * 0.7;
    return { ...line, marks: isClear ? marks : [] };
  });
}

function plainLine(kind: Line["kind"], a: number | null, b: number | null, text: string): Line {
  return { kind, a, b, text, marks: [] };
}

// A last line that only gained or lost its newline is shown as removed and added.
function withLastLine(lines: Line[], a: Side, b: Side): Line[] {
  const result = [...lines];
  const last = result.at(-1);
  if (last?.kind === "same" && a.newline !== b.newline) {
    result.pop();
    result.push({ ...last, kind: "del", b: null }, { ...last, kind: "add", a: null });
  }
  const note = plainLine("note", null, null, "No newline at the end of the file");
  if (last?.kind === "same" && !a.newline && !b.newline) return [...result, note];
  if (!a.newline) insertAfter(result, (line) => line.a === a.lines.length, note);
  if (!b.newline) insertAfter(result, (line) => line.b === b.lines.length, note);
  return result;
}

function insertAfter(lines: Line[], is: (line: Line) => boolean, note: Line): void {
  const at = lines.findLastIndex(is);
  if (at >= 0) lines.splice(at + 1, 0, note);
}

function fold(lines: Line[]): Part[] {
  const parts: Part[] = [];
  const show = (more: Line[]) => {
    if (more.length === 0) return;
    const last = parts.at(-1);
    if (last && last.fold === null) { for (const line of more) last.lines.push(line); }
    else parts.push({ fold: null, lines: [...more] });
  };
  for (const run of runs(lines)) {
    const first = run === undefined ? undefined : run[0];
    if (!first) continue;
    if (first.kind === "same") foldSame(run, first === lines[0], run.at(-1) === lines.at(-1));
    else if (run.length >= BLANK_RUN && isBlank(first)) {
      parts.push({ fold: `${run.length} blank lines`, lines: run });
    } else show(run);
  }
  return parts;

  function foldSame(run: Line[], atStart: boolean, atEnd: boolean): void {
    const head = atStart ? 0 : CONTEXT;
    const tail = atEnd ? 0 : CONTEXT;
    const inner = run.length - head - tail;
    if (inner < FOLD_FROM) return show(run);
    show(run.slice(0, head));
    parts.push({ fold: `${inner} unchanged lines`, lines: run.slice(head, head + inner) });
    show(run.slice(head + inner));
  }
}

// Groups consecutive lines of one kind; changed blank lines are a separate kind.
function runs(lines: Line[]): Line[][] {
  const groups: Line[][] = [];
  let key = "";
  for (const line of lines) {
    const next = line.kind + (line.kind !== "same" && isBlank(line) ? "-blank" : "");
    if (next !== key) groups.push([]);
    key = next;
    groups.at(-1)!.push(line);
  }
  return groups;
}

function isBlank(line: Line): boolean {
  return line.text.trim() === "";
}

// A carriage return before the line feed is a line ending; the facts name it.
function hiddenIn(text: string): number {
  return countHidden(text.replace(/\r$/, ""), { code: true });
}

function factsOf(before: string | null, after: string | null, a: Side, b: Side): string[] {
  const facts: string[] = [];
  const known = a.endings !== "none" && b.endings !== "none";
  if (known && a.endings !== b.endings) facts.push(`line endings ${a.endings} → ${b.endings}`);
  else if (b.endings === "CRLF" || b.endings === "mixed") facts.push(`line endings ${b.endings}`);
  if (after !== null && after !== "" && !b.newline) {
    facts.push(
      before !== null && before !== "" && a.newline
        ? "loses its last newline"
        : "no newline at the end",
    );
  }
  if (before !== null && after !== null && before !== after && bare(before) === bare(after)) {
    facts.push("only whitespace changes");
  }
  return facts;
}

function bare(text: string): string {
  return text.replace(/\s+/g, "");
}

/** Parts of a text, as start and end offsets. */
type Spans = readonly (readonly [number, number])[];

/** Texts that are longer together are shown without marks inside their lines. */
const MOST_MARKED = 20_000;
const TOKENS = /[\p{L}\p{N}_]+|\s+|./gsu;

/** Finds the changed parts inside lines, word by word; returns none for very long texts. */
function spansOf(removed: string[], added: string[]): { removed: Spans; added: Spans } {
  const [left, right] = [removed.join("\n"), added.join("\n")];
  if (left === "" || right === "" || left.length + right.length > MOST_MARKED) {
    return { removed: [], added: [] };
  }
  const [before, after] = [left.match(TOKENS)!, right.match(TOKENS)!];
  const { changes } = findChanges(before, after);
  const [startsA, startsB] = [startsOf(before), startsOf(after)];
  return {
    removed: changes.map(({ fromA, toA }) => [startsA[fromA]!, startsA[toA]!]),
    added: changes.map(({ fromB, toB }) => [startsB[fromB]!, startsB[toB]!]),
  };
}

/** The offset of each token, and the end of the last. */
function startsOf(tokens: readonly string[]): number[] {
  const starts = [0];
  for (const token of tokens) starts.push(starts.at(-1)! + token.length);
  return starts;
}
