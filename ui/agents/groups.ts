import type { RefObject } from "preact";
import { useRef } from "preact/hooks";
import type { AgentSession } from "../../server/agent_monitor/schema.ts";
import { keyOf, rankOf } from "./words.ts";

/** The sessions of one project; `id` is null for those outside of every project. */
export interface Group {
  id: string | null;
  sessions: AgentSession[];
}

/**
 * The sessions by project, those that wait for a person first. While somebody points at the list or
 * has the keyboard in it, cards keep their places.
 */
export function useGroups(
  sessions: AgentSession[],
  list: RefObject<HTMLElement | null>,
): Group[] {
  const places = useRef<string[]>([]);
  const isUsed = list.current?.matches(":hover, :focus-within") ?? false;
  const known = new Map(places.current.map((key, at) => [key, at]));
  const placeOf = (session: AgentSession) => known.get(keyOf(session)) ?? known.size;
  const sorted = sessions.toSorted((a, b) =>
    isUsed ? placeOf(a) - placeOf(b) : rankOf(a) - rankOf(b) || byStart(a, b)
  );
  const groups = groupsOf(sorted);
  places.current = groups.flatMap((group) => group.sessions.map(keyOf));
  return groups;
}

/** Groups keep the order of their first session. */
export function groupsOf(sorted: AgentSession[]): Group[] {
  const groups = new Map<string | null, AgentSession[]>();
  for (const session of sorted) {
    groups.set(session.project_id, [...groups.get(session.project_id) ?? [], session]);
  }
  return [...groups].map(([id, sessions]) => ({ id, sessions }));
}

// The start never changes, so two idle sessions never swap.
function byStart(a: AgentSession, b: AgentSession): number {
  return (b.started_at ?? "").localeCompare(a.started_at ?? "") ||
    keyOf(a).localeCompare(keyOf(b));
}
