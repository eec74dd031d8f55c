/** More of one text than this is too much for a list. */
const MOST_LISTED = 2_000;
const LISTED_START = 1_500;
const LISTED_END = 300;

/** The start and the end of a text that is too long for a list, and a note of the rest; else the text. */
export function listedParts(text: string): [start: string, note?: string, end?: string] {
  if (text.length <= MOST_LISTED) return [text];
  const left = text.slice(LISTED_START, -LISTED_END);
  const unusual = /[^\t\n\x20-\x7e]|xn--/.test(left) ? ", some in another alphabet" : "";
  return [
    text.slice(0, LISTED_START).toWellFormed(),
    `[${left.length} more characters${unusual}]`,
    text.slice(-LISTED_END).toWellFormed(),
  ];
}
