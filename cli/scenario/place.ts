/** A place in a text, both numbers from 1. */
export interface Place {
  line: number;
  column: number;
}

/** The line and the column of an offset. */
export function placeAt(text: string, offset: number): Place {
  let line = 1;
  let start = 0;
  for (let at = text.indexOf("\n"); at !== -1 && at < offset; at = text.indexOf("\n", at + 1)) {
    line++;
    start = at + 1;
  }
  return { line, column: offset - start + 1 };
}

/** JSON and flow YAML below this depth are read; deeper ones could exhaust the stack. */
const DEPTH = 200;

/** The offset of the bracket that exceeds the depth which is read; null for an ordinary text. */
export function tooDeepAt(text: string): number | null {
  let depth = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (quoted) {
      if (char === "\\") at++;
      else if (char === '"') quoted = false;
    } else if (char === '"') quoted = true;
    else if (char === "[" || char === "{") {
      if (++depth > DEPTH) return at;
    } else if (char === "]" || char === "}") depth--;
  }
  return null;
}

/** The words for a text that is nested deeper. */
export const TOO_DEEP = `is nested more than ${DEPTH} levels deep`;

/** The text of bytes in UTF-8 or UTF-16, without the byte-order mark that editors on Windows add. */
export function textOf(bytes: Uint8Array): string {
  const [first, second] = bytes;
  const label = first === 0xff && second === 0xfe
    ? "utf-16le"
    : first === 0xfe && second === 0xff
    ? "utf-16be"
    : "utf-8";
  return new TextDecoder(label).decode(bytes);
}
