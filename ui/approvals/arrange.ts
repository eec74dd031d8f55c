import type { Action } from "../../server/actions/schema.ts";

/** The orders of the queue. */
export type Sort = "age" | "risk" | "project";

interface Arrangement {
  sort: Sort;
  /** Puts the actions of a session together; the session of the first action comes first. */
  bySession: boolean;
  /** The name of a project, by which the order by project sorts. */
  nameOf?: (project_id: string) => string;
}

type Placed = Pick<Action, "id" | "session_id" | "project_id" | "created_at" | "risk">;

/** Sorts held actions: the oldest first, the riskiest first, or by project. */
export function arrange<T extends Placed>(
  items: readonly T[],
  { sort, bySession, nameOf = (id) => id }: Arrangement,
): T[] {
  const byProject = (a: Placed, b: Placed) =>
    nameOf(a.project_id).localeCompare(nameOf(b.project_id)) ||
    a.project_id.localeCompare(b.project_id) || byAge(a, b);
  const sorted = [...items].sort({ age: byAge, risk: byRisk, project: byProject }[sort]);
  return bySession ? together(sorted) : sorted;
}

function together<T extends Placed>(sorted: readonly T[]): T[] {
  const groups = new Map<string, T[]>();
  for (const item of sorted) {
    const group = groups.get(item.session_id);
    if (group) group.push(item);
    else groups.set(item.session_id, [item]);
  }
  return [...groups.values()].flat();
}

/** Keeps the places of the items that `before` names; the others follow in their order. */
export function keepPlaces<T extends { id: string }>(
  items: readonly T[],
  before: readonly string[],
): T[] {
  const place = new Map(before.map((id, at) => [id, at]));
  const known = items.filter(({ id }) => place.has(id))
    .sort((a, b) => place.get(a.id)! - place.get(b.id)!);
  return [...known, ...items.filter(({ id }) => !place.has(id))];
}

function byAge(a: Placed, b: Placed): number {
  return a.created_at.localeCompare(b.created_at) || a.id.localeCompare(b.id);
}

function byRisk(a: Placed, b: Placed): number {
  return b.risk.score - a.risk.score || byAge(a, b);
}
