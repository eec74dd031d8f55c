import type { Race } from "../execute/race/race.ts";
import type { Execution } from "../schema.ts";

/** How a race was released and how simultaneous it was, for a person; none for anything else. */
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

/** What the races of a run could not have seen, each said once. */
export function blindSpotsOf(executions: readonly Execution[]): string[] {
  const races = executions.flatMap(({ evidence }) => (evidence.race as Race | undefined) ?? []);
  if (races.length === 0) return [];
  const unread = executions.some(({ evidence }) => evidence.race && !evidence.check);
  const always = unread
    ? [
      "Only statuses were judged where exec.check reads nothing back: a race may damage state and answer well",
    ]
    : [];
  return [...new Set([...races.flatMap(({ blind_spots }) => blind_spots), ...always])];
}
