import { expect, test } from "vitest";
import type { Action } from "../../../server/actions/schema.ts";
import {
  agoOf,
  bytesOf,
  count,
  linesOf,
  plain,
  sentenceOf,
  spanOf,
  splitPath,
} from "../../../ui/parts/words.ts";

test.each([
  ["Write", "held.md", null, "Write held.md"],
  ["Write", null, null, "Use Write"],
  ["apply_patch", "held.md", null, "Patch held.md"],
  ["Bash", null, "npm test\nls", "Run npm test + 1 line"],
  ["WebFetch", null, null, "Use WebFetch"],
])("the sentence of a host's own tool %s names its object", (tool, path, command, said) => {
  expect(plain(sentenceOf({ tool, path, command } as Action))).toBe(said);
});

test.each([[0, "0 bytes"], [1, "1 byte"], [999, "999 bytes"], [1000, "1.0 KB"], [48_211, "48 KB"], [
  999_999,
  "1.0 MB",
], [12_400_000, "12 MB"]])("bytesOf(%i) is %s", (bytes, words) => {
  expect(bytesOf(bytes)).toBe(words);
});

test.each([["", 0], ["a", 1], ["a\n", 1], ["a\nb", 2], ["\n\n", 2]])(
  "linesOf(%j) is %i",
  (text, lines) => expect(linesOf(text)).toBe(lines),
);

test("count() says one and many", () => {
  expect(count(1, "line")).toBe("1 line");
  expect(count(1204, "line")).toBe("1,204 lines");
});

test("agoOf() and spanOf() have one unit", () => {
  const now = Date.parse("2026-01-01T00:00:00Z");
  expect(agoOf("2026-01-01T00:00:00Z", now)).toBe("now");
  expect(agoOf("2025-12-31T23:59:20Z", now)).toBe("40 s");
  expect(spanOf(3 * 3600)).toBe("3 h");
});

test("splitPath() keeps every character", () => {
  for (const path of ["a", "a/b", "/a/b/", "a//b", ""]) {
    const { folder, name } = splitPath(path);
    expect(folder + name).toBe(path);
  }
});

test("plain() makes hidden characters visible", () => {
  expect(plain({ verb: "Write", object: "a\u202eb", tail: "" })).toBe("Write a[U+202E]b");
});
