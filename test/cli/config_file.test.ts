import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  editConfig,
  formatConfig,
  lineDiff,
  readConfig,
  writeText,
} from "../../cli/config_file.ts";
import { createTempFolder } from "../temp_folder.ts";

const COMMENTED = `{
  // who we are
  "id": "web",
  "ours": { "a": [1, 2] }, /* stays */
  "policies": {
    "blockedPaths": [".env"] // secrets
  }
}
`;

test("editConfig() keeps comments, order and unknown keys", () => {
  const edited = editConfig(COMMENTED, [{ path: ["extends"], value: "global" }]);
  for (const kept of ["// who we are", "/* stays */", "// secrets", '"ours": { "a": [1, 2] }']) {
    expect(edited).toContain(kept);
  }
  expect(readConfig(edited, "x")).toMatchObject({ id: "web", extends: "global" });
});

test("editConfig() without edits changes no byte", () => {
  expect(editConfig(COMMENTED, [])).toBe(COMMENTED);
});

test("readConfig() names the line and column of a syntax error", () => {
  expect(() => readConfig('{\n  "id": "x"\n  "b": 1\n}', "gate.config.json"))
    .toThrow('Cannot read "gate.config.json": comma expected at line 3, column 3');
});

test.each(["[]", "1", "null", ""])("readConfig() refuses %j", (text) => {
  expect(() => readConfig(text, "x")).toThrow(/Cannot read "x"/);
});

test("lineDiff() lists removed and added lines in order", () => {
  expect(lineDiff("a\nb\nc", "a\nx\nc\nd")).toEqual(["- b", "+ x", "+ d"]);
  expect(lineDiff("same", "same")).toEqual([]);
});

test("formatConfig() keeps a value on one line if it fits", () => {
  const config = { id: "web", none: {}, list: ["a", "b"], rules: [{ pattern: "x", reason: "y" }] };
  expect(formatConfig(config)).toBe(`{
  "id": "web",
  "none": {},
  "list": ["a", "b"],
  "rules": [{ "pattern": "x", "reason": "y" }]
}`);
  const long = { list: Array.from({ length: 30 }, (_, n) => `entry ${n}`) };
  expect(formatConfig(long).split("\n")).toHaveLength(34);
});

test("formatConfig() keeps every value unchanged", () => {
  fc.assert(fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
    expect(JSON.parse(formatConfig({ value }))).toEqual(JSON.parse(JSON.stringify({ value })));
  }));
});

test("writeText() names the file, not its temporary one, and the next step", () => {
  const path = join(createTempFolder("write"), "none", "gate.config.json");
  expect(() => writeText(path, "{}", 0o600)).toThrow(expect.objectContaining({
    message: `Cannot write "${path}": its folder does not exist`,
    next: expect.stringContaining("then the same command"),
  }));
});
