import type { Line } from "../diff_model.ts";

/** Lines side by side: what went stands beside what came in its place. */
export function pairs(lines: readonly Line[]): [Line | null, Line | null][] {
  const rows: [Line | null, Line | null][] = [];
  let gone: Line[] = [];
  let come: Line[] = [];
  const flush = () => {
    for (let at = 0; at < Math.max(gone.length, come.length); at++) {
      rows.push([gone[at] ?? null, come[at] ?? null]);
    }
    gone = [];
    come = [];
  };
  for (const [at, line] of lines.entries()) {
    if (line.kind === "del") {
      if (come.length > 0) flush();
      gone.push(line);
    } else if (line.kind === "add") come.push(line);
    else if (line.kind === "note" && gone.length + come.length > 0) {
      (lines[at - 1]?.kind === "del" ? gone : come).push(line);
    } else {
      flush();
      rows.push([line, line]);
    }
  }
  flush();
  return rows;
}
