/** Code points that a terminal interprets, hides or draws out of order. */
const UNSAFE =
  // deno-lint-ignore no-control-regex
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\u{e0000}-\u{e0fff}]/gu;

/** Characters that look like a space but are another character. */
const ODD_SPACE = /[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/gu;

const LONG_BLANK = / {80,}|(?:\n[ \t]*){20,}/gu;

/** Text that is safe to print: it cannot move the cursor, hide or reorder characters. */
export function visibleText(text: string): string {
  return text
    .replace(LONG_BLANK, (blank) => `[${blank.length} blanks]${blank.includes("\n") ? "\n" : ""}`)
    .replace(UNSAFE, (char) => `[U+${hex(char)}]`)
    .replace(ODD_SPACE, (char) => `[U+${hex(char)}]`);
}

/** As `visibleText`, on one line: newlines and tabs become visible symbols. */
export function visibleLine(text: string): string {
  return visibleText(text.replaceAll("\n", "⏎").replaceAll("\t", "⇥"));
}

/** JSON that is safe to print: characters that a terminal interprets become `\\uXXXX`. */
export function visibleJson(value: unknown, indent: number): string {
  return JSON.stringify(value, null, indent).replace(UNSAFE, (found) => {
    if (found === "\n" || found === "\r") return found;
    return Array.from(
      { length: found.length },
      (_, i) => `\\u${found.charCodeAt(i).toString(16).padStart(4, "0")}`,
    ).join("");
  });
}

function hex(char: string): string {
  return char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0");
}
