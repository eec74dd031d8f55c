import { describe, expect, test } from "vitest";
import { compileSegment, matchSegment } from "../../../server/policy/glob.ts";
import { ANY, BRACKET, QUESTION } from "../../../server/policy/holes.ts";
import { compilePath, matchPath, namePath, PathIndex } from "../../../server/policy/path_match.ts";
import { meter } from "../../../server/policy/meter.ts";
import { random } from "./interpret/disguise.ts";

const ROUNDS = 4_000;

/** Any text of some letters. */
function text(next: () => number, letters: string, most: number): string {
  const length = Math.floor(next() * (most + 1));
  return Array.from({ length }, () => letters[Math.floor(next() * letters.length)]).join("");
}

/** The meaning of a pattern without classes, as a regular expression has it. */
function toRegExp(pattern: string): RegExp {
  return new RegExp(`^${pattern.replaceAll("*", ".*").replaceAll("?", ".")}$`, "s");
}

describe("matchSegment", () => {
  test("says what a regular expression says", () => {
    const next = random(11);
    for (let round = 0; round < ROUNDS; round++) {
      meter.reset();
      const [pattern, value] = [text(next, "ab*?", 7), text(next, "ab", 8)];
      if (pattern === "**") continue;
      const expected = toRegExp(pattern).test(value) ? "yes" : "no";
      expect([pattern, value, matchSegment(compileSegment(pattern), value)])
        .toEqual([pattern, value, expected]);
    }
  });

  test("never says no where an unknown part could make it match", () => {
    const next = random(12);
    for (let round = 0; round < ROUNDS; round++) {
      meter.reset();
      const [pattern, before, after] = [
        text(next, "ab*?", 6),
        text(next, "ab", 3),
        text(next, "ab", 3),
      ];
      if (pattern === "**") continue;
      const possible = ["", "a", "b", "ab", "ba", "aab"].some((hidden) =>
        toRegExp(pattern).test(before + hidden + after)
      );
      if (!possible) continue;
      expect(matchSegment(compileSegment(pattern), before + ANY + after), `${pattern} ${before}…`)
        .not.toBe("no");
    }
  });

  test.each([
    ["*😀", "a😀", "yes"],
    ["?", "😀", "yes"],
    ["[😀-😂]x", "😁x", "yes"],
    ["a[!b-d]e", "aze", "yes"],
    ["a[!b-d]e", "ace", "no"],
    ["a[bc", "a[bc", "yes"],
    ["a\\*", "a*", "yes"],
    ["a\\*", "ab", "no"],
    ["a?c", `a${QUESTION}c`, "yes"],
    ["abc", `a${BRACKET}c`, "maybe"],
    ["abc", `a${QUESTION}${QUESTION}c`, "no"],
    [`${"a".repeat(40)}*${"b".repeat(40)}?`, `${"a".repeat(41)}${"b".repeat(41)}`, "yes"],
    [`?${"*a".repeat(60)}?`, "a".repeat(62), "yes"],
    [`?${"*a".repeat(60)}?`, "a".repeat(61), "no"],
  ])("%s and %s: %s", (pattern, value, expected) => {
    meter.reset();
    expect(matchSegment(compileSegment(pattern), value)).toBe(expected);
  });
});

test("the index never leaves out a rule that matches", () => {
  const next = random(13);
  const names = ["a", "B", "c.", "src", "Ä", "d:x", "*.ts", "?", "**", "x*"];
  const some = (from: string[], most: number) =>
    Array.from(
      { length: 1 + Math.floor(next() * most) },
      () => from[Math.floor(next() * from.length)]!,
    ).join("/");
  const rules = Array.from({ length: 300 }, () => {
    const pattern = (next() < 0.3 ? "/" : next() < 0.2 ? "~/" : "") + some(names, 4);
    return { pattern, compiled: compilePath(pattern) };
  });
  const index = new PathIndex(rules);
  for (let round = 0; round < 300; round++) {
    meter.reset();
    const path = `/${next() < 0.5 ? "r/" : ""}${some([...names, "b", "ä", `y${ANY}`], 5)}`;
    const one = namePath(path, ["/r"], "/home");
    const about = index.candidates([one]);
    for (const forbids of [true, false]) {
      const matching = rules.filter(({ compiled }) => matchPath(compiled, one, forbids) !== "no");
      expect(matching.filter((rule) => !about.includes(rule)).map(({ pattern }) => [path, pattern]))
        .toEqual([]);
    }
  }
});
