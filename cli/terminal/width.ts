import measure from "fast-string-truncated-width";

/** The number of terminal columns that a line fills; colour codes fill none. */
export function displayWidth(line: string): number {
  return measure(line).width;
}

/** The line cut to `width` columns, with an ellipsis if it was cut. */
export function fit(line: string, width: number): string {
  if (displayWidth(line) <= width) return line;
  return `${line.slice(0, placeOf(line, width - 1))}…`;
}

/** The place after the last character that fits into `width` columns; at least one character. */
export function breakAt(line: string, width: number): number {
  return Math.max(1, placeOf(line, width));
}

function placeOf(line: string, width: number): number {
  let { index } = measure(line, { limit: width, ellipsis: "", ellipsisWidth: 0 });
  // The library's place is too far behind signs that are neither Latin nor wide.
  while (index > 0 && displayWidth(line.slice(0, index)) > width) {
    index -= /[\uDC00-\uDFFF]/.test(line[index - 1]!) ? 2 : 1;
  }
  return index;
}
