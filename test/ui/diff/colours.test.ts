import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { segments } from "../../../server/shown/visible.ts";
import { coloursOf, cutByColour } from "../../../ui/diff/colours.ts";

/** A file of each rare language that has others inside it, and of some without. */
const RARE_FILES = [
  "a.erb",
  "a.hbs",
  "a.haml",
  "a.twig",
  "a.ex",
  "a.hs",
  "a.ps1",
  "a.adoc",
  "a.tex",
];

/** The coloured parts of a text, by line. */
async function shown(path: string, text: string): Promise<string[][]> {
  const colours = await coloursOf(path, text);
  return text.split("\n").map((line, at) =>
    cutByColour(line, 0, colours![at]!)
      .filter(({ colour }) => colour !== null)
      .map((part) => `${part.colour} ${part.text}`)
  );
}

describe("the colours of code", () => {
  test.each([
    ["src/a.ts", "const x = 'y'; // z", ["keyword const", "string 'y'", "comment // z"]],
    ["a.py", "def f(): return 1", ["keyword def", "name f", "keyword return", "literal 1"]],
    ["Dockerfile", "FROM node:20", ["keyword FROM"]],
    ["deploy.yaml", "name: web # one", ["literal name:", "string web", "comment # one"]],
    ["Makefile", "CC = gcc # c", ["comment # c"]],
    ["page.html", "<p class='a'>b</p>", ["keyword <", "keyword p"]],
    ["lib/a.ex", "defmodule A do # b", ["keyword defmodule", "comment # b"]],
    ["Main.hs", "import Data.List -- b", ["comment -- b"]],
    ["build.gradle", "int a = 1 // b", ["literal 1", "comment // b"]],
    ["run.ps1", "$a = 'b' # c", ["string 'b'", "comment # c"]],
    ["a.proto", "message A { string b = 1; }", ["keyword message ", "literal 1"]],
    ["CMakeLists.txt", "set(A 1) # b", ["keyword set", "comment # b"]],
    ["a.erb", "<p><%= 1 %></p>", ["literal 1"]],
  ])("of %s", async (path, text, parts) => {
    expect((await shown(path, text))[0]).toEqual(expect.arrayContaining(parts));
  });

  test("go on over lines", async () => {
    const lines = await shown("a.ts", "/* one\ntwo */ let a;\n`${b}\nc`");
    expect(lines).toEqual([
      ["comment /* one"],
      ["comment two */", "keyword let"],
      ["string `", "string ${b}"],
      ["string c`"],
    ]);
  });

  test("of a long file are those of its parts, also where a comment is longer than a slice", async () => {
    const block = "export function f(a: number) {\n\n  return `x\n\ny` + a; // z\n}\n\n";
    const comment = `/*\n${"const not = 1;\n\n".repeat(2_000)}*/\n`;
    const text = block.repeat(1_000) + comment + block.repeat(1_000);
    expect(text.length).toBeGreaterThan(150_000);
    const lines = await shown("a.ts", text);
    const [first, inside] = [await shown("a.ts", block), await shown("a.ts", comment)];
    const each = first.slice(0, -1);
    const expected = [
      ...Array.from({ length: 1_000 }, () => each).flat(),
      ...inside.slice(0, -1),
      ...Array.from({ length: 1_000 }, () => each).flat(),
      [],
    ];
    expect(lines.length).toBe(expected.length);
    expect(lines.findIndex((line, at) => String(line) !== String(expected[at]))).toBe(-1);
  });

  test.each([
    ["notes.txt", "const"],
    ["a.ts", `"${"x".repeat(1_000_000)}"`],
    ["a.md", "x\n".repeat(20_001)],
  ])(
    "are none for an unknown language and for a long text: %s",
    async (path, text) => expect(await coloursOf(path, text)).toBeNull(),
  );

  test.each([
    "let pаypal = 1; // a Cyrillic letter",
    "let a = 1;\u202e // reversed",
    "fetch('https://xn--pypal-4ve.com')",
    `let a = 1;${" ".repeat(100)}evil()`,
    "let a\u0007 = 1;",
  ])("are none on a line that the page marks: %j", async (text) => {
    expect(await shown("a.ts", text)).toEqual([[]]);
  });

  test("change no character and no mark of any text", async () => {
    const pieces = fc.constantFrom(
      ...[
        "const ",
        "'",
        '"',
        "`",
        "${",
        "}",
        "/*",
        "*/",
        "//",
        "#",
        "\n",
        "\r\n",
        "\t",
        "<a>",
        "</",
      ],
      ...[
        "1",
        "xn--a",
        "\u202e",
        "\u200b",
        "а",
        "\0",
        "\u001b[31m",
        "x",
        "function f(",
        ")",
        "{",
        " ",
      ],
    );
    const texts = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.array(pieces).map((all) => all.join("")),
    );
    const paths = fc.constantFrom(
      "a.ts",
      "a.tsx",
      "a.py",
      "a.md",
      "a.html",
      "a.sh",
      "a.json",
      "a.rb",
      ...RARE_FILES,
    );
    const marksOf = (line: string) =>
      segments(line, { code: true }).filter(({ kind }) => kind !== "text");
    await fc.assert(
      fc.asyncProperty(paths, texts, fc.nat(20), async (path, text, from) => {
        const colours = await coloursOf(path, text);
        const lines = text.split("\n");
        expect(colours?.length ?? lines.length).toBe(lines.length);
        for (const [at, line] of lines.entries()) {
          const part = line.slice(from);
          const cut = cutByColour(part, from, colours?.[at] ?? []);
          expect(cut.map((one) => one.text).join("")).toBe(part);
          if (cut.some(({ colour }) => colour !== null)) {
            expect(cut.flatMap((one) => marksOf(one.text))).toEqual(marksOf(part));
          }
        }
      }),
      { numRuns: 500 },
    );
  });
});
