import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { countLines } from "../../../server/shown/lines.ts";
import { createDiff } from "../../../ui/diff/diff_model.ts";

const line = fc.constantFrom("a", "b", "c", "", "}", "d\r");
const text = fc.option(
  fc.tuple(fc.array(line, { maxLength: 30 }), fc.boolean())
    .map(([lines, newline]) => lines.join("\n") + (newline ? "\n" : "")),
);

describe("countLines()", () => {
  test("counts what the diff of a card counts", () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const { added, removed } = createDiff(before, after);
        expect(countLines(before, after)).toEqual({ added, removed });
      }),
      { numRuns: 3_000 },
    );
  });

  test.each([
    ["a new file", null, "1\n2\n"],
    ["a deleted file", "1\n2\n3", null],
    ["a missing last newline", "1\n2\n", "1\n2"],
    ["a moved block", "a\nb\nc\nd\n", "c\nd\na\nb\n"],
    ["another last line", "a\nb", "a\nc\n"],
  ])("counts as git does: %s", (_, before, after) => {
    const folder = mkdtempSync(join(tmpdir(), "gate-lines-"));
    const files = [["a", before], ["b", after]].map(([name, text]) => {
      const file = text === null ? "/dev/null" : join(folder, name!);
      if (text !== null) writeFileSync(file, text!);
      return file;
    });
    const { stdout } = spawnSync("git", ["diff", "--no-index", "--numstat", ...files]);
    rmSync(folder, { recursive: true });
    const [added, removed] = String(stdout).split("\t").map(Number);
    expect(countLines(before, after)).toEqual({ added, removed });
  });

  test("gives no number where the comparison would take too long", () => {
    const many = (by: number) => Array.from({ length: 8_000 }, (_, i) => (i * by) % 9_973);
    expect(countLines(many(7).join("\n"), many(11).join("\n"))).toBeNull();
    expect(countLines(null, many(7).join("\n"))).toEqual({ added: 8_000, removed: 0 });
  });
});
