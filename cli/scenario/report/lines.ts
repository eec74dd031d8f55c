import { count } from "../../terminal/output.ts";
import { visibleLine } from "../../terminal/visible.ts";
import type { Race } from "../execute/race/race.ts";
import type { Execution } from "../schema.ts";
import type { Coverage } from "../summary.ts";

/** The most rows; JSON has all of them. */
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
    extentOf(operations, families.length),
    ...(families.length > 9 ? [blank + digits(0)] : []),
    blank + digits(1),
    ...rows,
    ...(operations > rows.length ? [`… and ${operations - rows.length} more operations`] : []),
    ...families.map((family, at) => `${String(at + 1).padStart(4)}  ${family}`),
  ];
}

/** How much a document was covered: `1 operation × 3 families`. */
export function extentOf(operations: number, families: number): string {
  return `${count(operations, "operation")} × ${
    families === 1 ? "1 family" : `${families} families`
  }`;
}

function short(operation: string): string {
  const line = visibleLine(operation);
  return line.length > NAME ? `${line.slice(0, NAME - 1)}…` : line;
}

/** How a race was released and how simultaneous it was; no lines for other scenarios. */
export function raceLines({ evidence }: Execution): string[] {
  const race = evidence.race as Race | undefined;
  if (!race) return [];
  const passedOver = race.ladder.filter(({ taken }) => !taken)
    .map(({ strategy, why }) => `not by ${strategy}: ${why}`);
  const at = race.server_overlap;
  const server = at ? `, ${at.most_at_once} at once by the target's own ${at.source}` : "";
  const proof = race.shots.length === 0 ? [] : [
    `released by ${race.strategy} within ${race.spread_us} µs, ${race.in_flight} of ` +
    `${race.shots.length} in flight at once${server}`,
  ];
  return [...proof, ...passedOver];
}

/** The blind spots of all races of a run, without repetition. */
export function blindSpotsOf(executions: readonly Execution[]): string[] {
  const races = executions.flatMap(({ evidence }) => (evidence.race as Race | undefined) ?? []);
  if (races.length === 0) return [];
  const unread = executions.some(({ evidence }) => evidence.race && !evidence.check);
  const always = unread
    ? ["Without exec.check only statuses were judged: a race may damage state and answer well"]
    : [];
  return [...new Set([...races.flatMap(({ blind_spots }) => blind_spots), ...always])];
}
