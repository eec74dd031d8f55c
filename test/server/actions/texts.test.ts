import fc from "fast-check";
import { expect, test } from "vitest";
import { mergeTexts, unifiedDiff } from "../../../server/actions/texts.ts";

test.each([
  ["one side changed", "a\nb\nc\n", "a\nB\nc\n", "a\nb\nc\n", "a\nB\nc\n"],
  ["both changed elsewhere", "a\nb\nc\nd\n", "A\nb\nc\nd\n", "a\nb\nc\nD\n", "A\nb\nc\nD\n"],
  ["both made the same change", "a\nb\n", "a\nX\n", "a\nX\n", "a\nX\n"],
  ["one removes, the other adds at the end", "a\nb\nc\n", "b\nc\n", "a\nb\nc\nd\n", "b\nc\nd\n"],
  ["the same line in two ways", "a\nb\n", "a\nX\n", "a\nY\n", null],
  ["two insertions at one place", "a\nb\n", "a\nX\nb\n", "a\nY\nb\n", null],
  ["removed here, changed there", "a\nb\nc\n", "a\nc\n", "a\nB\nc\n", null],
  ["a last line without its ending", "a\nb\nc", "a\nb\nc\n", "A\nb\nc", "A\nb\nc\n"],
  [
    "carriage returns stay",
    "a\r\nb\r\nc\r\n",
    "A\r\nb\r\nc\r\n",
    "a\r\nb\r\nC\r\n",
    "A\r\nb\r\nC\r\n",
  ],
  ["from nothing", "", "a\n", "", "a\n"],
])("mergeTexts(): %s", (_name, base, ours, theirs, merged) => {
  expect(mergeTexts(base, ours, theirs)).toBe(merged);
  expect(mergeTexts(base, theirs, ours)).toBe(merged);
});

const text = fc.array(fc.constantFrom("a\n", "b\n", "c\n", "d", "\n"), { maxLength: 12 })
  .map((lines) => lines.join(""));

test("mergeTexts() keeps a single side's text as it is, and never depends on the order", () => {
  fc.assert(fc.property(text, text, text, (base, ours, theirs) => {
    expect(mergeTexts(base, ours, base)).toBe(ours);
    expect(mergeTexts(base, ours, ours)).toBe(ours);
    expect(mergeTexts(base, ours, theirs)).toBe(mergeTexts(base, theirs, ours));
  }));
});

test("a file of a million lines is merged like any other", () => {
  const base = "\n".repeat(1_000_000);
  expect(mergeTexts(base, `${base}a\n`, `b\n${base}`)).toBe(`b\n${base}a\n`);
});

test("texts that are too different are not compared for ever", () => {
  const many = (salt: number) =>
    Array.from({ length: 60_000 }, (_, n) => `${n * salt % 7919}`).join("\n");
  expect(mergeTexts(many(3), many(5), many(7))).toBeNull();
  expect(unifiedDiff("f", many(3), many(5))).toBeNull();
});

test("unifiedDiff() shows what changed", () => {
  expect(unifiedDiff("f.txt", "a\nb\n", "a\nc\n")).toContain("-b\n+c\n");
});
