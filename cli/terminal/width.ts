/** What fills two columns of a terminal: the wide letters of East Asia, and emoji. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u4dbf\u4e00-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}\p{Emoji_Presentation}]/u;
const MARK = /[\p{Mn}\p{Me}]/u;
// deno-lint-ignore no-control-regex
const STYLE = /\x1b\[[\d;]*m/g;
const PLAIN = /^[\x20-\x7e]*$/;

/** How many columns a line fills on a terminal; how it is painted fills none. */
export function displayWidth(line: string): number {
  const text = line.replace(STYLE, "");
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const char of text) width += widthOf(char);
  return width;
}

/** As much of a line as fits, and an ellipsis where that is not all. */
export function fit(line: string, width: number): string {
  if (displayWidth(line) <= width) return line;
  let kept = "";
  let left = width - 1;
  for (const char of line) {
    left -= widthOf(char);
    if (left < 0) break;
    kept += char;
  }
  return `${kept}…`;
}

function widthOf(char: string): number {
  if (MARK.test(char)) return 0;
  return WIDE.test(char) ? 2 : 1;
}
