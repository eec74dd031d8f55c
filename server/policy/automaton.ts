import { ANY, BRACKET, DEEP, QUESTION, SPLIT, STAR, TAME } from "./holes.ts";
import { meter } from "./meter.ts";

/** One unit of a compiled segment: a literal, `?`, `*` or a class. */
export type Piece =
  | { kind: "char"; char: string }
  | { kind: "one" }
  | { kind: "many" }
  | { kind: "class"; negated: boolean; ranges: [string, string][] };

type Bits = Int32Array;

const STRETCHES = new Set([ANY, SPLIT, DEEP, STAR, TAME]);
const SINGLES = new Set([QUESTION, BRACKET]);

/**
 * Walks pattern and value together and keeps the set of reached positions in bits. It never
 * backtracks, so its cost is bounded for every pattern.
 */
export class Automaton {
  readonly #pieces: readonly Piece[];
  readonly #words: number;
  /** Positions before a `*`, before any piece that takes one character, before a `?`. */
  readonly #many: Bits;
  readonly #single: Bits;
  readonly #one: Bits;
  /** For each letter of the pattern, the positions that it advances. */
  readonly #letters = new Map<string, Bits>();
  readonly #classes: number[] = [];
  /** Reused by every walk. */
  readonly #first: Bits;
  readonly #second: Bits;

  constructor(pieces: readonly Piece[]) {
    this.#pieces = pieces;
    this.#words = (pieces.length >> 5) + 1;
    this.#first = this.#empty();
    this.#second = this.#empty();
    this.#many = this.#empty();
    this.#single = this.#empty();
    this.#one = this.#empty();
    for (const [at, piece] of pieces.entries()) {
      set(piece.kind === "many" ? this.#many : this.#single, at);
      if (piece.kind === "one") set(this.#one, at);
      if (piece.kind === "class") this.#classes.push(at);
    }
    for (const [at, piece] of pieces.entries()) {
      if (piece.kind !== "char") continue;
      const known = this.#letters.get(piece.char) ?? this.#one.slice();
      set(known, at);
      this.#letters.set(piece.char, known);
    }
  }

  /** Whether the whole value matches; with `generous`, unknown characters match anything. */
  accepts(value: string, generous: boolean): boolean {
    let reached = this.#first.fill(0);
    let spare = this.#second;
    this.#begin(reached);
    const cost = 3 + this.#words + 4 * this.#classes.length;
    for (const char of value) {
      meter.spend(cost);
      if (generous && STRETCHES.has(char)) this.#stretch(reached, spare);
      else if (!this.#step(reached, spare, this.#advanced(char, generous))) return false;
      [reached, spare] = [spare, reached];
    }
    return has(reached, this.#pieces.length);
  }

  #empty(): Bits {
    return new Int32Array(this.#words);
  }

  /** The positions that a character advances. */
  #advanced(char: string, generous: boolean): Bits {
    if (generous && SINGLES.has(char)) return this.#single;
    const known = this.#letters.get(char) ?? this.#one;
    if (this.#classes.length === 0) return known;
    const all = known.slice();
    for (const at of this.#classes) if (inClass(this.#pieces[at]!, char)) set(all, at);
    return all;
  }

  /** Advances by one character; a `*` may also match nothing. False if no position is left. */
  #step(from: Bits, to: Bits, ledOn: Bits): boolean {
    const many = this.#many;
    let [carry, skips, all] = [0, 0, 0];
    for (let at = 0; at < from.length; at++) {
      const on = from[at]! & ledOn[at]!;
      const here = (on << 1) | carry | (from[at]! & many[at]!) | skips;
      const skip = here & many[at]!;
      all |= to[at] = here | (skip << 1);
      carry = on >>> 31;
      skips = skip >>> 31;
    }
    return all !== 0;
  }

  /** Advances by any text: every position from the first reached one. */
  #stretch(from: Bits, to: Bits): void {
    let first = 0;
    while (first < this.#pieces.length && !has(from, first)) first++;
    to.fill(0);
    for (let at = first; at <= this.#pieces.length; at++) set(to, at);
  }

  /** Marks the start; a leading `*` may match nothing. Two stars are never adjacent. */
  #begin(reached: Bits): void {
    set(reached, 0);
    if (has(this.#many, 0)) set(reached, 1);
  }
}

function set(bits: Bits, at: number): void {
  bits[at >> 5]! |= 1 << (at & 31);
}

function has(bits: Bits, at: number): boolean {
  return (bits[at >> 5]! & (1 << (at & 31))) !== 0;
}

function inClass(piece: Piece, char: string): boolean {
  return piece.kind === "class" &&
    piece.ranges.some(([from, to]) => char >= from && char <= to) !== piece.negated;
}
