import { expect, test } from "vitest";
import { table } from "../../../cli/terminal/output.ts";
import { breakAt, displayWidth, fit } from "../../../cli/terminal/width.ts";

test.each([
  ["", 0],
  ["src/a.ts", 8],
  ["读我", 4],
  ["ｆｕｌｌ", 8],
  ["한글", 4],
  ["🚀", 2],
  ["e\u0301", 1],
  ["Grüße", 5],
  ["\x1b[31mred\x1b[39m", 3],
])("%j fills %i columns", (line, columns) => expect(displayWidth(line)).toBe(columns));

test.each([
  ["short", 10, "short"],
  ["exactly", 7, "exactly"],
  ["one too many", 11, "one too ma…"],
  ["读我很长", 8, "读我很长"],
  ["读我很长", 7, "读我很…"],
  ["读我很长", 6, "读我…"],
  ["a🚀b", 3, "a…"],
])("fit(%j, %i) is %j", (line, width, kept) => {
  expect(fit(line, width)).toBe(kept);
  expect(displayWidth(kept)).toBeLessThanOrEqual(width);
});

test.each(["✗", "│ ", "┌─┐", "α"])(
  "a line that begins with %j breaks where the terminal does",
  (head) => {
    const line = head + "x".repeat(200);
    const at = breakAt(line, 50);
    expect(displayWidth(line.slice(0, at))).toBe(50);
    expect(fit(line.slice(0, at), 50)).toBe(line.slice(0, at));
    expect(displayWidth(fit(line, 50))).toBe(50);
  },
);

test("table() aligns cells of any script and colour, without trailing blanks", () => {
  const lines = table([["读我", "a", ""], ["abcdef", "\x1b[31mb\x1b[39m", "c"]]).split("\n");
  expect(lines).toEqual(["读我    a", "abcdef  \x1b[31mb\x1b[39m  c"]);
});
