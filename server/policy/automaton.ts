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
 * Walks pattern and value side by side with the set of reached places in bits: no pattern can make
 * it go back.
 */
export class Automaton {
  readonly #pieces: readonly Piece[];
  readonly #words: number;
  /** The places before a `*`, before anything that takes one character, before `?`. */
  readonly #many: Bits;
  readonly #single: Bits;
  readonly #one: Bits;
  /** The places that each letter of the pattern leads on from. */
  readonly #letters = new Map<string, Bits>();
  readonly #classes: number[] = [];
  /** Used anew by every walk. */
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

  /** Whether the whole value has the pattern's shape; `generous` takes what is unknown for a match. */
  accepts(value: string, generous: boolean): boolean {
    let reached = this.#first.fill(0);
    let spare = this.#second;
    this.#begin(reached);
    const cost = 3 + this.#words + 4 * this.#classes.length;
    for (const char of value) {
      meter.spend(cost);
      if (generous && STRETCHES.has(char)) this.#stretch(reached, spare);
      else if (!this.#step(reached, spare, this.#ledOn(char, generous))) return false;
      [reached, spare] = [spare, reached];
    }
    return has(reached, this.#pieces.length);
  }

  #empty(): Bits {
    return new Int32Array(this.#words);
  }

  /** The places from which a character leads on. */
  #ledOn(char: string, generous: boolean): Bits {
    if (generous && SINGLES.has(char)) return this.#single;
    const known = this.#letters.get(char) ?? this.#one;
    if (this.#classes.length === 0) return known;
    const all = known.slice();
    for (const at of this.#classes) if (inClass(this.#pieces[at]!, char)) set(all, at);
    return all;
  }

  /** One character further; a `*` may also stand for nothing. False when nothing is reached. */
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

  /** Anything at all: every place from the first that was reached. */
  #stretch(from: Bits, to: Bits): void {
    let first = 0;
    while (first < this.#pieces.length && !has(from, first)) first++;
    to.fill(0);
    for (let at = first; at <= this.#pieces.length; at++) set(to, at);
  }

  /** Before the first character a `*` may stand for nothing already; two never stand side by side. */
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
