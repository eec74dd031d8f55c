/*
 * Folded keys: two spellings have the same key if some file system or reader takes them for one
 * name (case, Unicode form, ignorable characters, look-alikes). Only rules that ask or block use them.
 */

const IGNORABLE =
  /[\u00AD\u034F\u061C\u115F\u1160\u17B4\u17B5\u180B-\u180F\u200B-\u200F\u202A-\u202E\u2060-\u206F\uFE00-\uFE0F\uFEFF]/g;
const LOOK_ALIKE =
  /[\u0430\u0435\u043E\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u04CF\u0501\u051B\u03BF\u03BD\u03C1\u0131\u0261\u1D0D]/g;
const LATIN: Record<string, string> = {
  "\u0430": "a",
  "\u0435": "e",
  "\u043E": "o",
  "\u0440": "p",
  "\u0441": "c",
  "\u0443": "y",
  "\u0445": "x",
  "\u0456": "i",
  "\u0458": "j",
  "\u0455": "s",
  "\u04CF": "l",
  "\u0501": "d",
  "\u051B": "q",
  "\u03BF": "o",
  "\u03BD": "v",
  "\u03C1": "p",
  "\u0131": "i",
  "\u0261": "g",
  "\u1D0D": "m",
};

// deno-lint-ignore no-control-regex
const PLAIN = /^[\x00-\x7F\uFDD0-\uFDD6]*$/;

/** Whether lower case is all that folding changes. */
export function isPlain(text: string): boolean {
  return PLAIN.test(text);
}

/** The folded key of a name or pattern. */
export function fold(text: string): string {
  if (isPlain(text)) return text.toLowerCase();
  const bare = text.normalize("NFKC").replace(IGNORABLE, "");
  const cased = bare.toUpperCase().toLowerCase().normalize("NFKC");
  return cased.replace(LOOK_ALIKE, (char) => LATIN[char] ?? char);
}

/** The key of the file that Windows opens under this name: without stream, final dots and blanks. */
export function alias(segment: string): string {
  const stream = segment.indexOf(":");
  const named = stream > 0 ? segment.slice(0, stream) : segment;
  const trimmed = named.replace(/[. ]+$/, "");
  return trimmed === "" ? segment : trimmed;
}
