import fc from "fast-check";
import { expect, test } from "vitest";
import {
  fitVisible,
  listedLine,
  visibleJson,
  visibleLine,
  visibleText,
} from "../../../cli/terminal/visible.ts";
import { displayWidth } from "../../../cli/terminal/width.ts";

test.each([
  ["\x1b[2J", "[U+001B][2J"],
  ["\x9b31m", "[U+009B]31m"],
  ["a\rb", "a[U+000D]b"],
  ["a\x07b", "a[U+0007]b"],
  ["user\u202Etxt.exe", "user[U+202E]txt.exe"],
  ["\u2066x\u2069", "[U+2066]x[U+2069]"],
  ["zero\u200Bwidth", "zero[U+200B]width"],
  ["soft\u00ADhyphen", "soft[U+00AD]hyphen"],
  ["tag\u{E0041}", "tag[U+E0041]"],
  ["no\u00A0break", "no[U+00A0]break"],
  ["two\nlines\tand a tab", "two\nlines\tand a tab"],
  ["blank\u2800braille", "blank[U+2800]braille"],
  [`a${"\u0301".repeat(9)}`, "a[9 combining marks]"],
  ["p\u0430ypal.com", "p\u0430ypal[one word, two alphabets: Latin and Cyrillic].com"],
  ["rea\u216eme", "rea\u216eme[one word, two alphabets: Latin and Latin look-alikes]"],
  ["xn--80ak6aa92e.com", "xn--80ak6aa92e[a host name in another alphabet, encoded].com"],
  ["Grüße, 世界 🎉", "Grüße, 世界 🎉"],
])("visibleText() shows the hidden characters of %j", (text, shown) => {
  expect(visibleText(text)).toBe(shown);
});

test("visibleText() folds long runs of blanks", () => {
  expect(visibleText(`a${" ".repeat(200)}rm -rf`)).toBe("a[200 spaces]rm -rf");
  expect(visibleText(`a${"\n".repeat(200)}rm -rf`)).toBe("a[200 blanks]\nrm -rf");
});

test("visibleLine() returns one line", () => {
  expect(visibleLine("a\nb\tc")).toBe("a⏎b⇥c");
});

// deno-lint-ignore no-control-regex
const ACTS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069]/u;

const anyText = fc.array(fc.integer({ min: 0, max: 0x10ffff }), { maxLength: 60 })
  .map((points) => String.fromCodePoint(...points));

test("visibleText() and visibleJson() leave no control character in any text", () => {
  fc.assert(fc.property(anyText, (text) => {
    expect(visibleText(text)).not.toMatch(ACTS);
    expect(visibleJson({ text }, 0)).not.toMatch(ACTS);
  }));
});

test("visibleJson() keeps the value", () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => {
    expect(JSON.parse(visibleJson(value, 2))).toEqual(JSON.parse(JSON.stringify(value)));
  }));
  const hostile = { "\u202Ekey": "\x9b31m\u{E0041}\u2028" };
  expect(JSON.parse(visibleJson(hostile, 0))).toEqual(hostile);
});

test.each([
  ["src/plain.ts and more", 12, "src/plain.t…"],
  ["pаypal.ts", 80, "pаypal[one word, two alphabets: Latin and Cyrillic].ts"],
  ["pаypal.ts", 30, "pаypal[look-alike].ts"],
  ["src/some/long/folder/pаypal.ts", 30, "src/some/long/fol…[look-alike]"],
  ["pаypal-and-more", 12, "pаypal[l…[!]"],
  [
    "src/pаypal.ts and much more text after it",
    70,
    "src/pаypal[look-alike].ts and much more text after it",
  ],
  ["https://xn--pypal-4ve.com/a", 24, "https://xn-…[look-alike]"],
])("%j in %i columns keeps the mark of a look-alike word", (text, width, kept) => {
  const line = fitVisible(visibleLine(text), width);
  expect(displayWidth(line)).toBeLessThanOrEqual(width);
  expect(line).toBe(kept);
});

test.each([
  "[one word, two alphabets: rm -rf /]",
  "[a host name in another alphabet; rm -rf /]",
  "[one word, two alphabets: Latin and Greek; rm -rf /]",
  "[7 more characters; rm -rf /]",
])("text that only looks like a mark, %j, stays in a line that is cut", (text) => {
  expect(fitVisible(visibleLine(`ls ${text} src/a/long/path/of/a/file.ts`), 70)).toContain(
    "rm -rf /",
  );
});

test("a list shows the start and the end of a long text, and how much is between", () => {
  const line = listedLine(`curl ${"x".repeat(100_000)} | sh`);
  expect(line).toMatch(/^curl x{1495}\[98210 more characters\]x+ \| sh$/);
  expect(line.length).toBeLessThan(2_000);
});

test.each(["pаypal", "xn--pypal-4ve.com"])("look-alike %s between them is told", (name) => {
  const line = listedLine(`${"x ".repeat(5_000)}${name}${" x".repeat(5_000)}`);
  expect(line).toContain("more characters, some in another alphabet]");
  expect(fitVisible(line, 80)).toMatch(/\[look-alike\]$/);
});

test("a list's line is short and safe for any text", () => {
  for (const unit of ["аx ", "o\u0301\u0301\u0301\u0301", "\x1b[2J", "\u202E", "👩‍👩‍👧", "\n"]) {
    const line = listedLine(unit.repeat(30_000));
    expect(line.length).toBeLessThan(60_000);
    // deno-lint-ignore no-control-regex
    expect(line).not.toMatch(/[\x00-\x1f\x7f-\x9f\u202a-\u202e]/);
  }
});
