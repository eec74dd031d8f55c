import { listedParts } from "../../server/shown/listed.ts";
import { HIDDEN, segments } from "../../server/shown/visible.ts";
import { displayWidth, fit } from "./width.ts";

const LINE_RUN = /(?:\n[ \t]*){20,}/g;

/**
 * Text that is safe to print: it cannot move the cursor, hide or reorder characters, and a word of two
 * alphabets says so. Line feeds and tabs stay.
 */
export function visibleText(text: string): string {
  return segments(text.replace(LINE_RUN, (blank) => `[${blank.length} blanks]\n`), { code: true })
    .map(({ kind, text: shown, note }) => kind === "mixed" ? `${shown}[${note}]` : shown).join("");
}

/** As `visibleText`, on one line: newlines and tabs become visible symbols. */
export function visibleLine(text: string): string {
  return visibleText(text.replaceAll("\n", "⏎").replaceAll("\t", "⇥"));
}

/**
 * A text as a list shows it, on one visible line. Of a long one it shows the start and the end, so that
 * lists stay quick and short, whatever agents submit; a card shows all of it.
 */
export function listedLine(text: string): string {
  const [start, note = "", end = ""] = listedParts(text);
  return `${visibleLine(start)}${note}${visibleLine(end)}`;
}

/**
 * A visible line cut to `width` columns. The marks of look-alike words become `[look-alike]`; if one
 * is still cut off, the line ends in it, or in `[!]` where that is too long.
 */
export function fitVisible(line: string, width: number): string {
  if (displayWidth(line) <= width) return line;
  const brief = line.replace(MARKS, BRIEF);
  const cut = fit(brief, width);
  if (cut.split(BRIEF).length === brief.split(BRIEF).length) return cut;
  const mark = width < 2 * BRIEF.length ? "[!]" : BRIEF;
  return `${fit(brief, Math.max(1, width - mark.length))}${mark}`;
}

/**
 * A line of gate, which may hold a text that nobody has made visible: only line feeds, tabs and the
 * styles of `paint` act on a terminal.
 */
export function safeLine(line: string): string {
  return line.split(STYLE).map((part, at) => at % 2 === 1 ? part : part.replace(HIDDEN_EACH, chip))
    .join("");
}

function chip(sign: string): string {
  if (sign === "\n" || sign === "\t") return sign;
  return segments(sign).map(({ text }) => text).join("");
}

// deno-lint-ignore no-control-regex
const STYLE = /(\x1b\[(?:0|1|2|22|31|32|33|36|39)m)/;
// Exactly what gate writes: an agent's text between such brackets is never left out.
const SCRIPT = "(?:Latin(?: look-alikes)?|Cyrillic|Greek|Armenian|Cherokee)";
const MARKS = new RegExp(
  `\\[(?:one word, two alphabets: ${SCRIPT}(?: and ${SCRIPT}){1,5}|` +
    "a host name in another alphabet, encoded|\\d+ more characters, some in another alphabet)\\]",
  "g",
);
const BRIEF = "[look-alike]";

const HIDDEN_EACH = new RegExp(HIDDEN.source, "gu");

/** JSON that is safe to print: characters that a terminal interprets become `\\uXXXX`. */
export function visibleJson(value: unknown, indent: number): string {
  return JSON.stringify(value, null, indent).replace(HIDDEN_EACH, (found) => {
    if (found === "\n" || found === "\r") return found;
    return Array.from(
      { length: found.length },
      (_, i) => `\\u${found.charCodeAt(i).toString(16).padStart(4, "0")}`,
    ).join("");
  });
}
