import { visibleLine } from "../../terminal/visible.ts";
import type { Coverage } from "../coverage.ts";

/** More rows than this nobody reads; JSON has them all. */
const ROWS = 200;
const NAME = 44;

/** Operation × family: a row for each operation, a numbered column for each family. */
export function matrixLines({ operations, matrix }: Coverage): string[] {
  const families = [...new Set(Object.values(matrix).flat())].sort();
  const rows = Object.entries(matrix).slice(0, ROWS).map(([operation, covered]) => {
    const marks = families.map((family) => covered.includes(family) ? "●" : "·").join("");
    return `${short(operation).padEnd(NAME)} ${marks}  ${covered.length}`;
  });
  const digits = (place: number) =>
    families.map((_, at) => String(at + 1).padStart(2).at(place)).join("");
  const blank = " ".repeat(NAME + 1);
  return [
    `${operations} operations × ${families.length} families`,
    ...(families.length > 9 ? [blank + digits(0)] : []),
    blank + digits(1),
    ...rows,
    ...(operations > rows.length ? [`… and ${operations - rows.length} more operations`] : []),
    ...families.map((family, at) => `${String(at + 1).padStart(4)}  ${family}`),
  ];
}

function short(operation: string): string {
  const line = visibleLine(operation);
  return line.length > NAME ? `${line.slice(0, NAME - 1)}…` : line;
}
