import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import type { TestSpecification } from "vitest/node";
import { LONGEST, LongestFirst } from "./longest_first.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

test("each of the longest files exists, once", () => {
  expect(LONGEST.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  expect(new Set(LONGEST).size).toBe(LONGEST.length);
});

test("the longest files start first, and those of a project stay together", async () => {
  const sequencer = new LongestFirst(
    { config: { root: ROOT }, cache: { getFileTestResults() {}, getFileStats() {} } } as never,
  );
  const file = (path: string, name = "shared") =>
    ({
      moduleId: join(ROOT, path),
      project: { name, config: { isolate: name === "alone", sequence: { groupOrder: 0 } } },
    }) as TestSpecification;
  const given = [
    file("test/a.test.ts"),
    file(LONGEST[1]!),
    file("test/b.test.ts", "alone"),
    file(LONGEST[0]!),
  ];
  const sorted = await sequencer.sort(given);
  expect(sorted.map(({ moduleId }) => moduleId.slice(ROOT.length))).toEqual(
    ["test/b.test.ts", LONGEST[0], LONGEST[1], "test/a.test.ts"],
  );
});
