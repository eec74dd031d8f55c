import { expect, test } from "vitest";
import type { Answers } from "../../../cli/init/answers.ts";
import { planConfig } from "../../../cli/init/plan.ts";

const ANSWERS: Answers = {
  id: "web",
  template: "strict",
  extendGlobal: true,
  platforms: ["codex"],
};
const plan = (before: string | null, answers: Partial<Answers> = {}) =>
  planConfig(before, "gate.config.json", { ...ANSWERS, ...answers });

test("planConfig() creates a complete config if there is none", () => {
  expect(JSON.parse(plan(null).after)).toMatchObject({
    version: "2",
    id: "web",
    extends: "global",
    platforms: ["codex"],
    policies: { defaultEffect: "ask" },
  });
});

test("planConfig() changes nothing the second time", () => {
  const once = plan(null).after;
  expect(plan(once).after).toBe(once);
});

test("planConfig() appends to lists and keeps their entries and unknown keys", () => {
  const before = '{"id":"web","policies":{"blockedPaths":["mine.txt",".env"]},"x":1}';
  const after = JSON.parse(plan(before).after);
  const patterns = after.policies.blockedPaths.map((e: string | { pattern: string }) =>
    typeof e === "string" ? e : e.pattern
  );
  expect(patterns.slice(0, 2)).toEqual(["mine.txt", ".env"]);
  expect(patterns.filter((pattern: string) => pattern === ".env")).toHaveLength(1);
  expect(patterns.length).toBeGreaterThan(2);
  expect(after.x).toBe(1);
});

test("planConfig() appends a platform to the existing ones", () => {
  const before = '{"id":"web","platforms":["cursor"]}';
  expect(JSON.parse(plan(before, { template: null }).after).platforms).toEqual(["cursor", "codex"]);
});
