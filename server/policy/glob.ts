import { GateError } from "../errors.ts";
import { Automaton, type Piece } from "./automaton.ts";
import { meter } from "./meter.ts";

/** Bounds of one pattern, checked when the config is loaded. */
export const GLOB_LIMITS = { bytes: 256, results: 64 } as const;

/** A pattern for one path segment, or `**`. */
export type Segment = { deep: true } | NameSegment;

interface NameSegment {
  deep: false;
  literal: string | null;
  /** The literal start and end; a cheap first test that most values fail. */
  front: string;
  back: string;
  /** The literals between the stars; null for a pattern with `?` or classes. */
  chunks: readonly string[] | null;
  pieces: readonly Piece[];
  /** Built on first use. */
  automaton: Automaton | null;
}

/** The certainty of a match: `maybe` if an unknown part of the value decides. */
export type Match = "yes" | "maybe" | "no";

/** Expands the braces of a pattern. @throws GateError `invalid` for too many results */
export function expandBraces(pattern: string): string[] {
  const results: string[] = [];
  const queue = [pattern];
  while (queue.length > 0) {
    const next = queue.pop()!;
    const parts = firstBraces(next);
    if (parts === null) results.push(next);
    else queue.push(...parts);
    if (results.length + queue.length > GLOB_LIMITS.results) {
      throw new GateError(
        "invalid",
        `Cannot use the pattern "${pattern}": its braces expand to more than ${GLOB_LIMITS.results} patterns`,
      );
    }
  }
  return results;
}

/** One pattern for each alternative of the first braces; null without braces. */
function firstBraces(pattern: string): string[] | null {
  for (let open = 0; open < pattern.length; open++) {
    if (pattern[open] === "\\") open++;
    else if (pattern[open] === "{") {
      const found = alternatives(pattern, open);
      if (found) return found;
    }
  }
  return null;
}

function alternatives(pattern: string, open: number): string[] | null {
  const cuts = [open];
  let depth = 0;
  for (let at = open; at < pattern.length; at++) {
    const char = pattern[at];
    if (char === "\\") at++;
    else if (char === "{") depth++;
    else if (char === "," && depth === 1) cuts.push(at);
    else if (char === "}" && --depth === 0) {
      if (cuts.length === 1) return null;
      cuts.push(at);
      const before = pattern.slice(0, open);
      const after = pattern.slice(at + 1);
      return cuts.slice(1).map((cut, i) => before + pattern.slice(cuts[i]! + 1, cut) + after);
    }
  }
  return null;
}

/** Compiles one segment of a pattern. */
export function compileSegment(text: string): Segment {
  if (text === "**") return { deep: true };
  const pieces: Piece[] = [];
  const chars = [...text];
  for (let at = 0; at < chars.length; at++) {
    const char = chars[at]!;
    if (char === "*") {
      if (pieces.at(-1)?.kind !== "many") pieces.push({ kind: "many" });
    } else if (char === "?") pieces.push({ kind: "one" });
    else if (char === "[") at = compileClass(chars, at, pieces);
    else pieces.push({ kind: "char", char: char === "\\" ? chars[++at] ?? "\\" : char });
  }
  return toSegment(pieces);
}

function toSegment(pieces: Piece[]): NameSegment {
  const begins = pieces.findIndex((piece) => piece.kind !== "char");
  const ends = pieces.findLastIndex((piece) => piece.kind !== "char");
  const textOf = (some: Piece[]) => some.map(charOf).join("");
  return {
    deep: false,
    literal: begins < 0 ? textOf(pieces) : null,
    front: textOf(pieces.slice(0, Math.max(0, begins))),
    back: textOf(pieces.slice(ends + 1)),
    chunks: begins < 0 ? null : toChunks(pieces.slice(begins, ends + 1)),
    pieces,
    automaton: null,
  };
}

function toChunks(pieces: readonly Piece[]): string[] | null {
  if (pieces.some(({ kind }) => kind !== "char" && kind !== "many")) return null;
  const chunks: string[] = [];
  for (const piece of pieces) {
    if (piece.kind === "many") chunks.push("");
    else chunks.push(chunks.pop()! + charOf(piece));
  }
  return chunks.filter((chunk) => chunk !== "");
}

function charOf(piece: Piece): string {
  return piece.kind === "char" ? piece.char : "";
}

/** Reads `[…]` at `open` and returns its end; an unclosed bracket is an ordinary character. */
function compileClass(text: string[], open: number, pieces: Piece[]): number {
  const negated = text[open + 1] === "!" || text[open + 1] === "^";
  const start = open + (negated ? 2 : 1);
  const close = text.indexOf("]", start + 1);
  if (close < 0) {
    pieces.push({ kind: "char", char: "[" });
    return open;
  }
  const ranges: [string, string][] = [];
  for (let at = start; at < close; at++) {
    const from = text[at]!;
    if (text[at + 1] === "-" && at + 2 < close) {
      ranges.push([from, text[at + 2]!]);
      at += 2;
    } else ranges.push([from, from]);
  }
  pieces.push({ kind: "class", negated, ranges });
  return close;
}

/** Whether a segment of a path matches a segment of a pattern. */
export function matchSegment(pattern: Segment, value: string): Match {
  if (pattern.deep) return "yes";
  meter.spend(10);
  if (pattern.literal !== null && pattern.literal === value) return "yes";
  if (!HOLES.test(value)) return matchStatic(pattern, value) ? "yes" : "no";
  if (isDotted(pattern) && GLOB.test(value)) return "no";
  if (pattern.literal !== null && SPANNING.test(value)) return "maybe";
  if (pattern.literal === null && accepts(pattern, value, false)) return "yes";
  return accepts(pattern, value, true) ? "maybe" : "no";
}

/** A shell's `*`, `?` and `[…]` at the start of a name never match a dot. */
function isDotted({ literal, front }: NameSegment): boolean {
  return (literal ?? front).startsWith(".");
}

const GLOB = /^[\uFDD4-\uFDD6]/;

function matchStatic(pattern: NameSegment, value: string): boolean {
  const { literal, front, back, chunks } = pattern;
  if (literal !== null || !value.startsWith(front) || !value.endsWith(back)) return false;
  return chunks ? findAll(chunks, value, pattern) : accepts(pattern, value, false);
}

/** Finds the chunks in order; the first position of each is always a good choice. */
function findAll(chunks: readonly string[], value: string, { front, back }: NameSegment): boolean {
  meter.spend((value.length >> 3) + chunks.length);
  let at = front.length;
  for (const chunk of chunks) {
    const found = chunk.length === 1 ? findOne(chunk, value, at) : value.indexOf(chunk, at);
    if (found < 0) return false;
    at = found + chunk.length;
  }
  return at + back.length <= value.length;
}

/** As `indexOf`, which costs more than a look at the next few letters. */
function findOne(letter: string, value: string, from: number): number {
  const code = letter.charCodeAt(0);
  for (let at = from; at < value.length; at++) if (value.charCodeAt(at) === code) return at;
  return -1;
}

function accepts(pattern: NameSegment, value: string, generous: boolean): boolean {
  pattern.automaton ??= new Automaton(pattern.pieces);
  return pattern.automaton.accepts(value, generous);
}

/** Matches holes only, of those that may be any name. */
const SPANNING = /^[\uFDD0-\uFDD4]+$/;
const HOLES = /[\uFDD0-\uFDD6]/;
