/*
 * A value that is only partly known is a string in which noncharacters stand for what is not
 * known. They cannot come from outside: text that contains one is held before it is parsed.
 */

/** Any text at all, but one word (it was quoted). */
export const ANY = "\uFDD0";
/** Any text at all, and any number of words (it was not quoted). */
export const SPLIT = "\uFDD1";
/** One word of a well-known shape: not empty, no blank, no slash, no dash in front. */
export const TAME = "\uFDD2";
/** Names of existing files below the folder in front of it, any depth. */
export const DEEP = "\uFDD3";
/** An unquoted `*`, `?` or `[…]`: names of existing files. */
export const STAR = "\uFDD4";
export const QUESTION = "\uFDD5";
export const BRACKET = "\uFDD6";

const HOLES = /[\uFDD0-\uFDD6]/;
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

/** Whether a part of it could be anything. */
export function isWild(text: string): boolean {
  return WILD.test(text);
}

/** Whether all of it is known, but for what a glob written there may find. */
export function isNamed(text: string): boolean {
  return !VAGUE.test(text);
}

/** The text as a person reads it: what is unknown becomes `$…`, glob characters come back. */
export function show(text: string): string {
  return HOLES.test(text) ? text.replace(HOLES_EACH, (hole) => SHOWN[hole] ?? "$…") : text;
}

/** Where an expansion ends one word and begins the next; only while a word is expanded. */
export const FIELD = "\uFDD7";
/** A quoted part, which makes a word even of nothing; only while a word is expanded. */
export const QUOTED = "\uFDD8";

/** Text as it is inside double quotes: an unknown is one word. */
export function asOneWord(text: string): string {
  return text.includes(SPLIT) ? text.replaceAll(SPLIT, ANY) : text;
}

/** Several unknowns side by side are one. */
export function collapse(text: string): string {
  return text.replace(UNKNOWNS, (holes) => holes.includes(SPLIT) ? SPLIT : ANY);
}

const UNKNOWNS = /[\uFDD0\uFDD1]{2,}/g;

/** The least that can be said of several values at once. */
export function generalise(values: readonly string[]): string {
  if (values.some(isWild)) return ANY;
  if (values.every((value) => /^[\w.,:@%+=\uFDD2][\w.,:@%+=\uFDD2-]*$/.test(value))) return TAME;
  return values.every((value) => /^[^\s-]\S*$/.test(value)) ? DEEP : ANY;
}
