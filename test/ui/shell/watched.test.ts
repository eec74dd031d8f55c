import { expect, test } from "vitest";
import type { HubProject } from "../../../server/projects/schema.ts";
import { watchedIn } from "../../../ui/shell/watched.ts";

const project = (id: string, last_activity_at: string | null = null): HubProject => ({
  id,
  name: id,
  roots: [],
  pending_count: 0,
  reachable: true,
  unread: false,
  workspace_ids: [],
  last_activity_at,
});
const many = (count: number) =>
  Array.from({ length: count }, (_, nth) => project(`p${String(nth).padStart(2, "0")}`));
const seenIn = (projects: HubProject[], turns: number) =>
  new Set(Array.from({ length: turns }, (_, turn) => watchedIn(projects, turn)).flat());

test.each([[0, 1], [1, 1], [10, 1], [11, 2], [12, 2], [23, 4], [50, 9]])(
  "each of %i projects is checked within %i turns, ten at a time",
  (count, turns) => {
    const projects = many(count);
    expect(seenIn(projects, turns).size).toBe(count);
    for (let turn = 0; turn < 30; turn++) {
      expect(watchedIn(projects, turn)).toHaveLength(Math.min(count, 10));
    }
  },
);

test("the most recently active project is checked in every turn", () => {
  const busy = project("zz", "2026-11-22T07:00:00.000Z");
  const projects = [...many(200), busy];
  for (let turn = 0; turn < 20; turn++) expect(watchedIn(projects, turn)).toContain("zz");
  expect(seenIn(projects, 100).size).toBe(50);
});
