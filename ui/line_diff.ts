import { diff, presentableDiff } from "@codemirror/merge";

/** Stretches of a text, from and to. */
export type Spans = readonly (readonly [number, number])[];

const DIFF = { scanLimit: 2000, timeout: 250 };
const FIRST_SURROGATE = 0xd800;
const SURROGATES = 0x800;
const MOST_LETTERS = 0x10000 - SURROGATES;
const MOST_MARKED = 50_000;

/** Lines `[fromA, toA)` of one text that stand as `[fromB, toB)` in the other. */
export interface LineChange {
  fromA: number;
  toA: number;
  fromB: number;
  toB: number;
}

/** Which lines differ: each different line becomes one letter, and the letters are compared. */
export function changesOf(a: string[], b: string[]): readonly LineChange[] {
  const letters = new Map<string, string>();
  const spell = (lines: string[]) => lines.map((line) => letterOf(line, letters)).join("");
  const left = spell(a);
  const right = spell(b);
  if (letters.size > MOST_LETTERS) return [{ fromA: 0, toA: a.length, fromB: 0, toB: b.length }];
  return diff(left, right, DIFF);
}

function letterOf(line: string, letters: Map<string, string>): string {
  const known = letters.get(line);
  if (known !== undefined) return known;
  // Halves of surrogate pairs are no letters of their own.
  const code = letters.size < FIRST_SURROGATE ? letters.size : letters.size + SURROGATES;
  const letter = String.fromCharCode(code);
  letters.set(line, letter);
  return letter;
}

/** What changed inside the lines; where there is too much to look at, nothing is marked. */
export function spansOf(gone: string[], come: string[]): { gone: Spans; come: Spans } {
  const [left, right] = [gone.join("\n"), come.join("\n")];
  if (left === "" || right === "" || left.length + right.length > MOST_MARKED) {
    return { gone: [], come: [] };
  }
  const changes = presentableDiff(left, right, DIFF);
  return {
    gone: changes.map((change) => [change.fromA, change.toA]),
    come: changes.map((change) => [change.fromB, change.toB]),
  };
}
