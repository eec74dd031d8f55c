import measure from "fast-string-truncated-width";

/** The number of terminal columns that a line fills; colour codes fill none. */
export function displayWidth(line: string): number {
  return measure(line).width;
}

/** The line cut to `width` columns, with an ellipsis if it was cut. */
export function fit(line: string, width: number): string {
  const { index, ellipsed } = measure(line, { limit: width, ellipsis: "…", ellipsisWidth: 1 });
  return ellipsed ? `${line.slice(0, index)}…` : line;
}

/** The place after the last character that fits into `width` columns; at least one character. */
export function breakAt(line: string, width: number): number {
  const { index } = measure(line, { limit: width, ellipsis: "", ellipsisWidth: 0 });
  return Math.max(1, index);
}
