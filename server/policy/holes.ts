/*
 * A partly known value is a string with holes: noncharacters in place of the unknown parts. They
 * never come from outside, because gate asks about a text that contains one before it parses it.
 */

/** Any text, as one word (it was quoted). */
export const ANY = "\uFDD0";
/** Any text, as any number of words (it was not quoted). */
export const SPLIT = "\uFDD1";
/** One word without blanks, slashes or a leading dash; not empty. */
export const TAME = "\uFDD2";
/** Names of existing files at any depth below the folder before it. */
export const DEEP = "\uFDD3";
/** An unquoted `*`, `?` or `[…]`: names of existing files. */
export const STAR = "\uFDD4";
export const QUESTION = "\uFDD5";
export const BRACKET = "\uFDD6";

/** Any one of the holes. */
export const HOLE = /[\uFDD0-\uFDD6]/;
const HOLES = HOLE;
const WILD = /[\uFDD0\uFDD1]/;
const VAGUE = /[\uFDD0-\uFDD3]/;
const HOLES_EACH = /[\uFDD0-\uFDD6]/g;

const SHOWN: Record<string, string> = {
  [ANY]: "$…",
  [SPLIT]: "$…",
  [TAME]: "$…",
  [DEEP]: "…",
  [STAR]: "*",
  [QUESTION]: "?",
  [BRACKET]: "[…]",
};

/** Whether every character is known. */
export function isStatic(text: string): boolean {
  return !HOLES.test(text);
}

/** Whether a part of it may be any text. */
export function isWild(text: string): boolean {
  return WILD.test(text);
}

/** Whether a word may become several: unknown words, or the names of existing files. */
export function isSeveral(text: string): boolean {
  return SEVERAL.test(text);
}

const SEVERAL = /[\uFDD1\uFDD3-\uFDD6]/;

/** Whether everything is known except the files that a glob finds. */
export function isNamed(text: string): boolean {
  return !VAGUE.test(text);
}

/** The text for a person: holes become `$…` or the glob character they came from. */
export function show(text: string): string {
  return HOLES.test(text) ? text.replace(HOLES_EACH, (hole) => SHOWN[hole] ?? "$…") : text;
}

/** The border between two words; only used while a word is expanded. */
export const FIELD = "\uFDD7";
/** Marks a quoted part, which makes a word even if empty; only used while a word is expanded. */
export const QUOTED = "\uFDD8";

/** Text as in double quotes: each hole is one word. */
export function asOneWord(text: string): string {
  return text.includes(SPLIT) ? text.replaceAll(SPLIT, ANY) : text;
}

/** Joins adjacent holes into one. */
export function collapse(text: string): string {
  if (!UNKNOWNS.test(text)) return text;
  return text.replace(UNKNOWNS_EACH, (holes) => holes.includes(SPLIT) ? SPLIT : holes[0]!);
}

const UNKNOWNS = /[\uFDD0\uFDD1]{2}|\uFDD2{2}|\uFDD3{2}/;
const UNKNOWNS_EACH = /[\uFDD0\uFDD1]{2,}|\uFDD2{2,}|\uFDD3{2,}/g;

/** One hole that covers all values. */
export function generalise(values: readonly string[]): string {
  if (values.some(isWild)) return ANY;
  if (values.every((value) => /^[\w.,:@%+=\uFDD2][\w.,:@%+=\uFDD2-]*$/.test(value))) return TAME;
  return values.every((value) => /^[^\s-]\S*$/.test(value)) ? DEEP : ANY;
}
