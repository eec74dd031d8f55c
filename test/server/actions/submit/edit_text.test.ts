import { expect, test } from "vitest";
import { editText } from "../../../../server/actions/submit/plan_action.ts";

const edits = Array.from({ length: 40 }, (_, i) => ({ old_text: `<${i}>`, new_text: `[${i}]` }));
const marks = edits.map(({ old_text }) => old_text).join("");

test("editText() makes many edits of a small file", () => {
  expect(editText(marks, edits, 1_000)).toBe(edits.map(({ new_text }) => new_text).join(""));
});

test("editText() refuses to search a large file again and again, and names the edit", () => {
  const text = "a".repeat(32 * 1024 * 1024) + marks;
  expect(() => editText(text, edits, text.length)).toThrow(
    /edit 8 of 40: the file is too large for so many edits; send the other edits in a call/,
  );
  const few = editText(text, edits.slice(0, 2), text.length);
  expect(few.endsWith(`[0][1]${marks.slice(6)}`)).toBe(true);
});
