import { expect, test } from "vitest";
import { alignThree } from "../../../ui/rollback/align.ts";
import { createRandom } from "../../random.ts";

const rows = (...texts: [string, string, string]) => {
  const [first, middle, last] = texts.map((text) => text === "" ? [] : text.split(" "));
  return alignThree(first!, middle!, last!).map(({ cells, isSame }) =>
    `${cells.map((cell) => cell ?? "-").join(" ")}${isSame ? "" : " *"}`
  );
};

test("equal lines stand side by side, and others beside what they replace", () => {
  expect(rows("a b c", "a B c", "a B c d")).toEqual(["a a a", "b B B *", "c c c", "- - d *"]);
});

test("changes of both sides at the same place are one part", () => {
  expect(rows("a b c", "a x y c", "a z c")).toEqual(["a a a", "b x z *", "- y - *", "c c c"]);
});

test("a file that was not there has no lines", () => {
  expect(rows("", "a b", "a c")).toEqual(["- a a *", "- b c *"]);
  expect(rows("a", "", "")).toEqual(["a - - *"]);
  expect(rows("", "", "")).toEqual([]);
});

test("every line of each text is in its column once, in order", () => {
  const random = createRandom(7);
  for (let turn = 0; turn < 200; turn++) {
    const text = () => Array.from({ length: random(12) }, () => "abcd"[random(4)]!);
    const texts = [text(), text(), text()] as const;
    const aligned = alignThree(...texts);
    texts.forEach((lines, at) => {
      const column = aligned.map(({ cells }) => cells[at]).filter((cell) => cell !== null);
      expect(column).toEqual(lines);
    });
    for (const { cells, isSame } of aligned) {
      if (isSame) expect(new Set(cells).size).toBe(1);
    }
  }
});
