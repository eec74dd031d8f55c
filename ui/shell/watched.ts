import type { HubProject } from "../../server/projects/schema.ts";

/** Reading a config opens a ledger, so only this many are read at once. */
const AT_ONCE = 10;
const MOST = 50;

/** The projects to check in this turn: the most recently active ones, and some others in rotation. */
export function watchedIn(projects: HubProject[], turn: number): string[] {
  const ids = projects.toSorted(byActivity).slice(0, MOST).map(({ id }) => id);
  if (ids.length <= AT_ONCE) return ids.toSorted();
  const half = AT_ONCE / 2;
  const others = ids.slice(half);
  const start = turn * half % others.length;
  const inTurn = [...others, ...others].slice(start, start + half);
  return [...ids.slice(0, half), ...inTurn].toSorted();
}

function byActivity(one: HubProject, other: HubProject): number {
  return (other.last_activity_at ?? "").localeCompare(one.last_activity_at ?? "");
}
