/** A piece of text that is shown in one way. */
export interface Segment {
  kind: "text" | "hidden" | "blank" | "mixed";
  text: string;
  /** The tooltip. */
  note?: string;
}

const ODD = / {81}|\bxn--/;
const PRINTABLE = /^[\x20-\x7e]*$/;
const PRINTABLE_CODE = /^[\x20-\x7e\t\n]*$/;
/** Characters that draw nothing, or that change how their neighbours are drawn. */
export const HIDDEN =
  /(?:[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs})/u;
const SHOWN = `(?!${HIDDEN.source})`;
const PIECES = new RegExp(
  [
    `(?<hidden>${HIDDEN.source})`,
    "(?<blank> {81,})",
    "(?<puny>\\bxn--[a-z0-9-]+)",
    `(?<marks>(?:${SHOWN}\\p{M}){4,})`,
    `(?<word>(?:${SHOWN}[\\p{L}\\p{N}_](?:${SHOWN}\\p{M}){0,3}(?!\\p{M}))+)`,
  ].join("|"),
  "gu",
);
const SCRIPTS: readonly [string, RegExp][] = [
  ["Latin", /\p{Script=Latin}/u],
  ["Cyrillic", /\p{Script=Cyrillic}/u],
  ["Greek", /\p{Script=Greek}/u],
  ["Armenian", /\p{Script=Armenian}/u],
  ["Cherokee", /\p{Script=Cherokee}/u],
];
/**
 * Letters that Unicode counts as other forms of the Latin ones: fullwidth, mathematical, letterlike,
 * Roman numerals, ligatures, the long s. Raised and lowered letters are told apart by their place.
 */
const TWINS =
  /[\u0132\u0133\u017f\u01c7-\u01cc\u01f1-\u01f3\u2102-\u2149\u2160-\u217f\ufb00-\ufb06\uff21-\uff3a\uff41-\uff5a\u{1d400}-\u{1d6a3}]/u;

/** Whether a word has Latin letters, and other forms of Latin letters beside them. */
export function hasTwins(word: string): boolean {
  return TWINS.test(word) && /[A-Za-z]/.test(word);
}

const NAMES: Record<number, string> = {
  0x00: "null",
  0x07: "bell",
  0x08: "backspace",
  0x09: "tab",
  0x0a: "line feed",
  0x0d: "carriage return",
  0x1b: "escape: starts a terminal sequence",
  0x7f: "delete",
  0xa0: "no-break space",
  0xad: "soft hyphen",
  0x200b: "zero-width space",
  0x200c: "zero-width non-joiner",
  0x200d: "zero-width joiner",
  0x200e: "left-to-right mark",
  0x200f: "right-to-left mark",
  0x202a: "left-to-right embedding",
  0x202b: "right-to-left embedding",
  0x202c: "end of direction change",
  0x202d: "left-to-right override",
  0x202e: "right-to-left override: shows text backwards",
  0x2060: "word joiner",
  0x2066: "left-to-right isolate",
  0x2067: "right-to-left isolate",
  0x2068: "first strong isolate",
  0x2069: "end of isolate",
  0xfeff: "byte order mark",
};

/**
 * Splits text into pieces that are shown as they are and pieces that must be made visible. In code,
 * tabs and line feeds are layout; elsewhere they count as hidden characters.
 */
export function segments(text: string, options: { code?: boolean } = {}): Segment[] {
  const plain = options.code ? PRINTABLE_CODE : PRINTABLE;
  if (plain.test(text) && !ODD.test(text)) return [{ kind: "text", text }];
  const found: Segment[] = [];
  let from = 0;
  for (const match of text.matchAll(PIECES)) {
    const segment = special(match, options.code === true);
    if (!segment) continue;
    if (match.index > from) found.push({ kind: "text", text: text.slice(from, match.index) });
    found.push(segment);
    from = match.index + match[0].length;
  }
  if (from < text.length) found.push({ kind: "text", text: text.slice(from) });
  return found;
}

/** The number of hidden characters. */
export function countHidden(text: string, options: { code?: boolean } = {}): number {
  return segments(text, options).filter((segment) => segment.kind === "hidden").length;
}

/** Text for titles and other plain strings: hidden characters appear in square brackets. */
export function flatten(text: string): string {
  return segments(text).map((segment) => segment.text).join("");
}

function special(match: RegExpMatchArray, code: boolean): Segment | null {
  const text = match[0];
  const { hidden, blank, puny, marks } = match.groups ?? {};
  if (hidden) {
    if (code && (text === "\t" || text === "\n")) return null;
    return chipOf(text);
  }
  if (blank) {
    return { kind: "blank", text: `[${text.length} spaces]`, note: "a long run of spaces" };
  }
  if (puny) return { kind: "mixed", text, note: "a host name in another alphabet, encoded" };
  if (marks) {
    const count = [...text].length;
    return {
      kind: "hidden",
      text: `[${count} combining marks]`,
      note: "marks stacked on one letter",
    };
  }
  return mixed(text);
}

function chipOf(character: string): Segment {
  const point = character.codePointAt(0)!;
  const hex = point.toString(16).toUpperCase().padStart(4, "0");
  return { kind: "hidden", text: `[U+${hex}]`, note: NAMES[point] ?? nameOfRange(point) };
}

function nameOfRange(point: number): string {
  if (point < 0xa0) return "control character";
  if (point >= 0xe0000 && point <= 0xe007f) return "invisible tag character";
  if ((point >= 0xfe00 && point <= 0xfe0f) || (point >= 0xe0100 && point <= 0xe01ef)) {
    return "variation selector";
  }
  if (point >= 0xd800 && point <= 0xdfff) return "half of a character";
  return "character without a mark of its own";
}

// Mixing alphabets inside a word can imitate another word: "аpple" for "apple".
function mixed(word: string): Segment | null {
  if (PRINTABLE.test(word)) return null;
  const scripts = SCRIPTS.filter(([, pattern]) => pattern.test(word)).map(([name]) => name);
  if (hasTwins(word)) scripts.push("Latin look-alikes");
  if (scripts.length < 2) return null;
  return { kind: "mixed", text: word, note: `one word, two alphabets: ${scripts.join(" and ")}` };
}
