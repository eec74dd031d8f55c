import { describe, expect, test } from "vitest";
import { countHidden, flatten, segments } from "../../../server/shown/visible.ts";

describe("segments()", () => {
  test("leaves ordinary text of any script alone", () => {
    for (
      const text of ["const a = 1;", "naïve café", "Привет, мир", "日本語のテキスト", "a\u0301b"]
    ) {
      expect(segments(text)).toEqual([{ kind: "text", text }]);
    }
  });

  test.each([
    ["\u202e", "[U+202E]"],
    ["\u200b", "[U+200B]"],
    ["\u{e0041}", "[U+E0041]"],
    ["\ufe0f", "[U+FE0F]"],
    ["\u3164", "[U+3164]"],
    ["\u00a0", "[U+00A0]"],
    ["\x1b", "[U+001B]"],
    ["\ud800", "[U+D800]"],
    ["\ue000", "[U+E000]"],
  ])("shows %j in any position", (character, shown) => {
    for (
      const text of [character, `a${character}b`, ` ${character} `, `${character}${character}`]
    ) {
      expect(flatten(text)).toBe(text.replaceAll(character, shown));
      expect(countHidden(text)).toBe(text.split(character).length - 1);
    }
  });

  test("makes every invisible character visible", () => {
    const invisible =
      /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}/u;
    let found = 0;
    for (let point = 0; point <= 0x10ffff; point++) {
      const character = String.fromCodePoint(point);
      if (!invisible.test(character)) continue;
      found += 1;
      if (invisible.test(flatten(`a${character}b${character}`))) {
        throw new Error(`U+${point.toString(16)} is not shown`);
      }
    }
    expect(found).toBeGreaterThan(4000);
  });

  test("takes tabs and line feeds as layout in code, and as hidden elsewhere", () => {
    expect(countHidden("a\tb\nc", { code: true })).toBe(0);
    expect(countHidden("a\tb\nc")).toBe(2);
    expect(countHidden("a\rb", { code: true })).toBe(1);
  });

  test("folds long runs of spaces and counts them", () => {
    expect(flatten(`a${" ".repeat(81)}b`)).toBe("a[81 spaces]b");
    expect(flatten(`a${" ".repeat(80)}b`)).toBe(`a${" ".repeat(80)}b`);
  });

  test("marks a word in two alphabets, not a sentence in two languages", () => {
    expect(segments("p\u0430ypal").map(({ kind }) => kind)).toEqual(["mixed"]);
    expect(segments("hello мир").map(({ kind }) => kind)).toEqual(["text"]);
  });

  test.each(["rea\u216eme", "\u{1d411}eadme", "\ufb01le", "\uff29ndex", "pa\u017fs"])(
    "marks other forms of Latin letters in a word: %s",
    (word) => {
      expect(segments(word)).toEqual([expect.objectContaining({
        kind: "mixed",
        note: "one word, two alphabets: Latin and Latin look-alikes",
      })]);
    },
  );

  test.each([
    "x\u00b2",
    "\uff21\uff22\uff23",
    "\u7b2c\u2161\u7ae0",
    "5\u2113",
    "n\u1d57\u02b0",
    "1\u00aa",
  ])(
    "marks no letter that is told apart by its place or neighbours: %s",
    (word) => expect(segments(word).map(({ kind }) => kind)).toEqual(["text"]),
  );

  test("marks an encoded host name in another alphabet", () => {
    const found = segments("curl https://xn--pypal-4ve.com/x");
    expect(found.find(({ kind }) => kind === "mixed")?.text).toBe("xn--pypal-4ve");
    expect(segments("curl https://paypal.com/x").map(({ kind }) => kind)).toEqual(["text"]);
  });

  test("counts marks stacked on one letter", () => {
    expect(flatten(`a${"\u0301".repeat(9)}b`)).toBe("a[9 combining marks]b");
  });

  test("keeps all other text", () => {
    const text = "a\u202eb\u200bc p\u0430y d";
    const kept = segments(text).filter(({ kind }) => kind !== "hidden").map((one) => one.text);
    expect(kept.join("")).toBe(text.replace(/[\u202e\u200b]/g, ""));
  });
});
