import { expect, test } from "vitest";
import { rowsOf } from "../../../ui/diff/patch.tsx";

test("a line of a patch has its number in each version that has it", () => {
  const patch = [
    "--- a.ts",
    "+++ a.ts",
    "@@ -3,3 +3,3 @@",
    " one",
    "-two",
    "+TWO",
    "\\ No newline at end of file",
    " three",
    "@@ -20 +20,2 @@",
    " x",
    "+y",
    "--- a comment of SQL",
    "+++ i",
    "",
  ].join("\n");
  expect(rowsOf(patch).map(({ sign, before, after, text }) => [sign, before, after, text])).toEqual(
    [
      ["@", null, null, "@@ -3,3 +3,3 @@"],
      [" ", 3, 3, "one"],
      ["-", 4, null, "two"],
      ["+", null, 4, "TWO"],
      ["\\", null, null, " No newline at end of file"],
      [" ", 5, 5, "three"],
      ["@", null, null, "@@ -20 +20,2 @@"],
      [" ", 20, 20, "x"],
      ["+", null, 21, "y"],
      ["-", 21, null, "-- a comment of SQL"],
      ["+", null, 22, "++ i"],
    ],
  );
});
