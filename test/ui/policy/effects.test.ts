import { expect, test } from "vitest";
import { nameOfRule } from "../../../ui/policy/effects.tsx";

test("a rule is called by its pattern, a built-in one by its name", () => {
  const rule = { source: "project", list: "blockedPaths", pattern: ".env" };
  expect(nameOfRule(rule)).toBe(".env");
  const builtin = { source: "builtin", list: "malformed-path", pattern: "**" };
  expect(nameOfRule(builtin)).toBe("malformed-path");
});
