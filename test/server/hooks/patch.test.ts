import { describe, expect, test } from "vitest";
import { patchUses } from "../../../server/hooks/patch.ts";

const OLD = "one\ntwo\nthree\ntwo\nfive\n";

function made(body: string[], old: string | null = OLD): string | null {
  const patch = ["*** Begin Patch", "*** Update File: a", ...body, "*** End Patch"].join("\n");
  const [use] = patchUses(patch);
  if (use?.is !== "write") throw new Error("it writes nothing");
  return use.make(old);
}

describe("what an update leaves of a file", () => {
  const ROWS: [what: string, body: string[], text: string | null][] = [
    ["one hunk", ["@@", " one", "-two", "+2"], "one\n2\nthree\ntwo\nfive\n"],
    ["the first that fits", ["@@", "-two"], "one\nthree\ntwo\nfive\n"],
    ["the first after its context", ["@@ three", "-two", "+2"], "one\ntwo\nthree\n2\nfive\n"],
    [
      "several, one after the other",
      ["@@", "-one", "+1", "@@", "-two", "+2", "@@", "-two"].concat(
        ["@@", " five", "+six"],
      ),
      "1\n2\nthree\nfive\nsix\n",
    ],
    ["lines at the end", ["@@", "+six", "@@", "+seven"], `${OLD}six\nseven\n`],
    ["lines at the end, after a context", ["@@ two", "+six"], `${OLD}six\n`],
    ["a hunk that stands before the last one", ["@@", "-three", "@@", "-one"], null],
    ["a context that is nowhere", ["@@ four", "-two"], null],
    ["a hunk that is nowhere", ["@@", "-four"], null],
    ["what was inserted is not looked through", ["@@", "-one", "+x", "@@", "-x"], null],
  ];

  test.each(ROWS)("%s", (_what, body, text) => {
    expect(made(body)).toBe(text);
  });

  test("nobody knows it of a file that is not there", () => {
    expect(made(["@@", "-one"], null)).toBe(null);
  });

  test("what takes too long to be found is left to the host", () => {
    const old = "a\n".repeat(20_000);
    const wanted = [...Array(10_000).fill("-a"), "-b"];
    expect(made(["@@", ...wanted], old + "b\n")).toBe(null);
    expect(made(["@@", ...wanted.slice(-100)], old + "b\n")).toBe("a\n".repeat(20_000 - 99));
  });
});

describe("any name that a reader may find", () => {
  const named = (...lines: string[]) =>
    patchUses(["*** Begin Patch", "*** Add File: a", "+x", ...lines, "*** End Patch"].join("\n"))
      .map((use) => "path" in use ? use.path : null);

  test.each([
    ["a line separator in it", "*** Delete File: x\u2028/../.env", "x\u2028/../.env"],
    ["a carriage return in it", "*** Delete File: x\r/../.env", "x\r/../.env"],
    ["a next-line character before the mark", "\u0085*** Delete File: .env", ".env"],
    ["spaces before the mark", "  *** Delete File: .env  ", ".env"],
  ])("%s", (_, line, path) => expect(named(line)).toEqual(["a", path]));

  test.each([
    ["a mark of another program", "*** Remove File: .env"],
    ["a space before the name", "*** Add File:  src/a"],
    ["no name", "*** Delete File: "],
  ])("%s: the patch is refused", (_, line) => {
    expect(() => named(line)).toThrow("its patch has a line that Codex does not know");
  });

  test("a line of the file's text is no mark", () => {
    expect(named("*** Update File: b", "@@", " ***", "-*** x", "+*** y")).toEqual(["a", "b"]);
  });
});
