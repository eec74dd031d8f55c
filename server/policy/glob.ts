import { GateError } from "../errors.ts";
import { ANY, BRACKET, DEEP, QUESTION, SPLIT, STAR, TAME } from "./holes.ts";

/** Bounds of one pattern; a hostile one is refused when the file is loaded. */
export const GLOB_LIMITS = { bytes: 256, results: 64 } as const;

/** One unit of a compiled segment: a literal, `?`, `*` or a class. */
type Piece =
  | { kind: "char"; char: string }
  | { kind: "one" }
  | { kind: "many" }
  | { kind: "class"; negated: boolean; ranges: [string, string][] };

/** A pattern for one path segment, or `**`. */
export type Segment = { deep: true } | { deep: false; literal: string | null; pieces: Piece[] };

/** How sure a match is: `maybe` when a part of the value is not known. */
export type Match = "yes" | "maybe" | "no";

/** The alternatives of `{a,b}`. @throws GateError `invalid` when there are too many */
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
        `Cannot use the pattern "${pattern}": its braces stand for more than ${GLOB_LIMITS.results} patterns`,
      );
    }
  }
  return results;
}

/** The pattern once for each alternative of its first braces; null without any. */
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
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!;
    if (char === "*") {
      if (pieces.at(-1)?.kind !== "many") pieces.push({ kind: "many" });
    } else if (char === "?") pieces.push({ kind: "one" });
    else if (char === "[") at = compileClass(text, at, pieces);
    else pieces.push({ kind: "char", char: char === "\\" ? text[++at] ?? "\\" : char });
  }
  const plain = pieces.every((piece) => piece.kind === "char");
  return { deep: false, literal: plain ? pieces.map(charOf).join("") : null, pieces };
}

function charOf(piece: Piece): string {
  return piece.kind === "char" ? piece.char : "";
}

/** Reads `[…]` from `open`; an unclosed bracket is an ordinary character. Returns where it ends. */
function compileClass(text: string, open: number, pieces: Piece[]): number {
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

/** Whether a segment of a path has the shape of the pattern's segment. */
export function matchSegment(pattern: Segment, value: string): Match {
  if (pattern.deep) return "yes";
  if (pattern.literal !== null && pattern.literal === value) return "yes";
  const holes = HOLES.test(value);
  if (pattern.literal !== null && !holes) return "no";
  if (walk(pattern.pieces, value, false)) return "yes";
  return holes && walk(pattern.pieces, value, true) ? "maybe" : "no";
}

const HOLES = /[\uFDD0-\uFDD6]/;
const STRETCHES = new Set([ANY, SPLIT, DEEP, STAR, TAME]);
const SINGLES = new Set([QUESTION, BRACKET]);

/** Walks pattern and value side by side, keeping the set of reachable positions: no backtracking. */
function walk(pieces: Piece[], value: string, generous: boolean): boolean {
  let reached = closure(new Set([0]), pieces);
  for (const char of value) {
    const next = new Set<number>();
    for (const at of reached) step(pieces, at, char, generous, next);
    if (next.size === 0) return false;
    reached = closure(next, pieces);
  }
  return reached.has(pieces.length);
}

function step(pieces: Piece[], at: number, char: string, generous: boolean, next: Set<number>) {
  const piece = pieces[at];
  if (generous && STRETCHES.has(char)) {
    for (let to = at; to <= pieces.length; to++) next.add(to);
    return;
  }
  if (!piece) return;
  if (piece.kind === "many") next.add(at);
  else if (piece.kind === "one") next.add(at + 1);
  else if (generous && SINGLES.has(char)) next.add(at + 1);
  else if (piece.kind === "char" ? piece.char === char : inClass(piece, char)) next.add(at + 1);
}

function inClass(piece: Piece & { kind: "class" }, char: string): boolean {
  return piece.ranges.some(([from, to]) => char >= from && char <= to) !== piece.negated;
}

/** Adds the positions that are reached without reading a character. */
function closure(reached: Set<number>, pieces: Piece[]): Set<number> {
  for (const at of reached) if (pieces[at]?.kind === "many") reached.add(at + 1);
  return reached;
}
