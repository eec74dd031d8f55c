import { maskSecrets } from "../audit/secrets.ts";

const MAX_CHARACTERS = 300;

// Characters that hide, reorder or break a line, and spaces that are not a space.
const UNSAFE = /[\p{C}\p{Zl}\p{Zp}\u034f\u115f\u1160\u3164\uffa0\ufe00-\ufe0f]|(?! )\p{Zs}/gu;

/**
 * Returns an agent's text as one line of at most 300 characters: secrets are redacted, and every
 * character is visible.
 */
export function quote(text: string): string {
  const line = maskSecrets(text.toWellFormed().slice(0, 4 * MAX_CHARACTERS))
    .replaceAll("\n", "⏎")
    .replaceAll("\t", "⇥")
    .replace(UNSAFE, (char) => `[U+${char.codePointAt(0)!.toString(16).toUpperCase()}]`)
    .replaceAll(/ {8,}/g, (blank) => `[${blank.length} blanks]`);
  if (line.length <= MAX_CHARACTERS && text.length <= 4 * MAX_CHARACTERS) return line;
  return `${line.slice(0, MAX_CHARACTERS).toWellFormed()}… [cut]`;
}

/** A name such as `example.com`; not a later part of a path, unless it follows `//`. */
const NAME = /(?<![\p{L}\p{N}_.-]|(?<!\/)\/)[\p{L}\p{N}_-]+(?:\.[\p{L}\p{N}_-]+)*\.\p{L}{2,}/gu;

/** The text without anything that a mail program shows as a link: `example[.]com`, `http[:]//`. */
export function withoutLinks(text: string): string {
  return text
    .replaceAll(/:(?=\/\/)/g, "[:]")
    .replaceAll(/\b(mailto|tel|data|javascript|file):/gi, "$1[:]")
    .replaceAll("@", "[@]")
    .replaceAll(NAME, (name) => name.replaceAll(".", "[.]"));
}
