import fc from "fast-check";
import { expect, test } from "vitest";
import { mergeTexts, unifiedDiff } from "../../../server/actions/texts.ts";

test.each([
  ["one side changed", "a\nb\nc\n", "a\nB\nc\n", "a\nb\nc\n", "a\nB\nc\n"],
  [
    "both sides changed different lines",
    "a\nb\nc\nd\n",
    "A\nb\nc\nd\n",
    "a\nb\nc\nD\n",
    "A\nb\nc\nD\n",
  ],
  ["both sides made the same change", "a\nb\n", "a\nX\n", "a\nX\n", "a\nX\n"],
  [
    "one side removes a line, the other adds one at the end",
    "a\nb\nc\n",
    "b\nc\n",
    "a\nb\nc\nd\n",
    "b\nc\nd\n",
  ],
  ["both sides changed the same line differently", "a\nb\n", "a\nX\n", "a\nY\n", null],
  ["both sides inserted lines at one place", "a\nb\n", "a\nX\nb\n", "a\nY\nb\n", null],
  ["one side removed the line that the other changed", "a\nb\nc\n", "a\nc\n", "a\nB\nc\n", null],
  ["the last line has no line break", "a\nb\nc", "a\nb\nc\n", "A\nb\nc", "A\nb\nc\n"],
  [
    "the lines end with CRLF",
    "a\r\nb\r\nc\r\n",
    "A\r\nb\r\nc\r\n",
    "a\r\nb\r\nC\r\n",
    "A\r\nb\r\nC\r\n",
  ],
  ["the base is empty", "", "a\n", "", "a\n"],
])("mergeTexts(): %s", (_name, base, ours, theirs, merged) => {
  expect(mergeTexts(base, ours, theirs)).toBe(merged);
  expect(mergeTexts(base, theirs, ours)).toBe(merged);
});

const text = fc.array(fc.constantFrom("a\n", "b\n", "c\n", "d", "\n"), { maxLength: 12 })
  .map((lines) => lines.join(""));

test("mergeTexts() returns the only changed side, and the order of the sides does not matter", () => {
  fc.assert(fc.property(text, text, text, (base, ours, theirs) => {
    expect(mergeTexts(base, ours, base)).toBe(ours);
    expect(mergeTexts(base, ours, ours)).toBe(ours);
    expect(mergeTexts(base, ours, theirs)).toBe(mergeTexts(base, theirs, ours));
  }));
});

test("mergeTexts() merges files of a million lines", () => {
  const base = "\n".repeat(1_000_000);
  expect(mergeTexts(base, `${base}a\n`, `b\n${base}`)).toBe(`b\n${base}a\n`);
});

test("mergeTexts() and unifiedDiff() give up on texts that differ too much", () => {
  const many = (salt: number) =>
    Array.from({ length: 60_000 }, (_, n) => `${n * salt % 7919}`).join("\n");
  expect(mergeTexts(many(3), many(5), many(7))).toBeNull();
  expect(unifiedDiff("f", many(3), many(5))).toBeNull();
});

test("unifiedDiff() shows the removed and the added line", () => {
  expect(unifiedDiff("f.txt", "a\nb\n", "a\nc\n")).toContain("-b\n+c\n");
});
