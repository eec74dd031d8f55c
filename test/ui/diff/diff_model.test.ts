import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createDiff, type DiffModel, type Line } from "../../../ui/diff/diff_model.ts";

const linesOf = (model: DiffModel): Line[] => model.parts.flatMap((part) => part.lines);

function rebuilt(model: DiffModel, side: "a" | "b"): string {
  const other = side === "a" ? "add" : "del";
  const lines = linesOf(model);
  const kept = lines.filter((line) => line.kind !== other && line.kind !== "note");
  const last = kept.at(-1);
  const next = last && lines[lines.indexOf(last) + 1];
  return kept.map((line) => line.text).join("\n") +
    (kept.length > 0 && next?.kind !== "note" ? "\n" : "");
}

const text = fc.array(fc.constantFrom("a", "b", "c", "", "  x", "y\r"), { maxLength: 40 })
  .chain((lines) => fc.boolean().map((newline) => lines.join("\n") + (newline ? "\n" : "")));

// Blank lines added among blank lines, where the texts alone do not show which one is new.
const SUBTLE: [string, string][] = [
  ["b\nc\n  x\n\n", "  x\n  x\nc\nc\n  x\n\nb\na\n\n"],
  ["\nc\na", "\n\nc\na"],
];

describe("createDiff()", () => {
  test("contains both texts, complete and in order", () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const model = createDiff(before, after);
        // When all lines end in CRLF, the line ending is a fact and the returns are not shown.
        const bare = (value: string) => value.replaceAll("\r", "");
        expect(bare(rebuilt(model, "a"))).toBe(bare(before));
        expect(bare(rebuilt(model, "b"))).toBe(bare(after));
        for (const side of ["a", "b"] as const) {
          const numbers = linesOf(model).map((line) => line[side]).filter((n) => n !== null);
          expect(numbers).toEqual(numbers.map((_, at) => at + 1));
        }
      }),
      { numRuns: 2000, examples: SUBTLE },
    );
  });

  test("marks the changed parts of a line", () => {
    const [removed, added] = linesOf(createDiff("const a = 1;\n", "const a = 2;\n"));
    expect(removed).toMatchObject({ kind: "del", text: "const a = 1;", marks: [[10, 11]] });
    expect(added).toMatchObject({ kind: "add", text: "const a = 2;", marks: [[10, 11]] });
  });

  test("a new file is all added, a deleted one all removed, an empty one has no lines", () => {
    expect(createDiff(null, "a\nb\n")).toMatchObject({ added: 2, removed: 0 });
    expect(createDiff("a\nb\n", null)).toMatchObject({ added: 0, removed: 2 });
    expect(createDiff(null, "").parts).toEqual([]);
  });

  test("folds unchanged lines, and counts them", () => {
    const before = Array.from({ length: 100 }, (_, i) => `line ${i}`).join("\n") + "\n";
    const model = createDiff(before, before.replace("line 50\n", "changed\n"));
    expect(model.parts.map((part) => part.fold)).toEqual([
      "47 unchanged lines",
      null,
      "46 unchanged lines",
    ]);
  });

  test("folds long runs of added blank lines, and counts them", () => {
    const model = createDiff(null, `a\n${"\n".repeat(150)}b\n`);
    expect(model.parts.map((part) => part.fold)).toEqual([null, "150 blank lines", null]);
    expect(model.added).toBe(152);
  });

  test("reports line endings and a missing last newline", () => {
    expect(createDiff("a\r\n", "a\n").facts).toEqual([
      "line endings CRLF → LF",
      "only whitespace changes",
    ]);
    expect(createDiff("a\r\nb\r\n", "a\r\nc\r\n").facts).toEqual(["line endings CRLF"]);
    expect(createDiff("a\n", "a").facts).toEqual([
      "loses its last newline",
      "only whitespace changes",
    ]);
    expect(linesOf(createDiff("a\n", "a")).map((line) => line.kind)).toEqual([
      "del",
      "add",
      "note",
    ]);
  });

  test("shows changes of whitespace alone", () => {
    const model = createDiff("a\n", "a     \n");
    expect(model.facts).toEqual(["only whitespace changes"]);
    expect(linesOf(model)[1]).toMatchObject({ kind: "add", marks: [[1, 6]] });
    expect(createDiff("a\n", "b\n").facts).toEqual([]);
  });

  test("counts hidden characters on added lines, not on removed ones", () => {
    expect(createDiff("a\u202e\n", "b\n").hidden).toBe(0);
    expect(createDiff("a\n", "a\u202e\u200b\n").hidden).toBe(2);
  });
});

test("a text of 300,000 lines is compared like any other", () => {
  const text = "a\nb\n".repeat(150_000);
  expect(createDiff(null, text)).toMatchObject({ added: 300_000, removed: 0 });
  expect(createDiff(text, null)).toMatchObject({ added: 0, removed: 300_000 });
});

test("lines that differ only in spaces and tabs are unchanged where blanks are skipped, and counted", () => {
  const before = "if x:\n  one()\ntwo()\nthree()\n";
  const after = "if x:\n    one()\n\ttwo( )\nfour()\n";
  const whole = createDiff(before, after);
  expect([whole.added, whole.removed, whole.respaced]).toEqual([3, 3, 0]);
  const skipped = createDiff(before, after, { skips_blanks: true });
  expect([skipped.added, skipped.removed, skipped.respaced]).toEqual([1, 1, 2]);
  expect(skipped.facts).toContain("2 with other spaces or tabs not marked");
  const shown = skipped.parts.flatMap(({ lines }) => lines).map(({ kind, a, b, text }) =>
    `${kind} ${a} ${b} ${text}`
  );
  expect(shown).toEqual([
    "same 1 1 if x:",
    "same 2 2     one()",
    "same 3 3 \ttwo( )",
    "del 4 null three()",
    "add null 4 four()",
  ]);
});

test("a hidden character is no blank that is skipped", () => {
  const { added, removed } = createDiff("a b\n", "a\u200b b\n", { skips_blanks: true });
  expect([added, removed]).toEqual([1, 1]);
});
