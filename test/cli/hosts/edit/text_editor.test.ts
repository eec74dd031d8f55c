import fc from "fast-check";
import { parse as parseJsonc } from "jsonc-parser";
import { describe, expect, test } from "vitest";
import { JSON_TEXT, JSONC_TEXT } from "../../../../cli/hosts/edit/json_text.ts";
import { type Change, editText, type TextEditor } from "../../../../cli/hosts/edit/text_editor.ts";
import { TOML_TEXT } from "../../../../cli/hosts/edit/toml_text.ts";
import { insertedInto } from "../stage.ts";

const ENTRY = { command: "/usr/bin/gate", args: ["mcp"], timeout: 5, env: { GATE_HOME: "C:\\g" } };
const AT = ["servers", "gate"];
const ADD: Change[] = [{ path: AT, value: ENTRY }];
const REMOVE: Change[] = [{ path: AT, value: undefined }];

const key = fc.oneof(
  fc.constantFrom("servers", "a", "b.c", "gate-x", "", 'q"', "é", "#", "//"),
  fc.string({ maxLength: 6 }),
).filter((one) => one !== "gate" && one !== "__proto__");
const scalar = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.integer(),
  fc.boolean(),
  fc.constantFrom('"', "}", "]", ",", "/*", "// x", "\\", "\u2028", "${A}"),
);
const value = fc.letrec((tie) => ({
  any: fc.oneof({ depthSize: "small" }, scalar, fc.constant(null), tie("list"), tie("table")),
  list: fc.array(tie("any"), { maxLength: 3 }),
  table: fc.dictionary(key, tie("any"), { maxKeys: 4 }),
})).table as fc.Arbitrary<Record<string, unknown>>;
const document = fc.tuple(
  value,
  fc.option(fc.dictionary(key, value, { maxKeys: 3 }), { nil: undefined }),
).map(([rest, servers]) => {
  const { servers: _, ...others } = rest;
  return servers ? { x: 1, ...others, servers } : { x: 1, ...others };
});
const indent = fc.constantFrom(0, 1, 2, 4, "\t");
const eol = fc.constantFrom("\n", "\r\n");

/** Inserts comments, blanks and trailing commas in random places. */
function litter(text: string, dice: number[]): string {
  let n = 0;
  const next = () => dice[n++ % dice.length]!;
  const bits = ["", "", " ", '/* ,}] " */', '// " } , \n', "\n", "\t"];
  return text.split(/("(?:[^"\\]|\\.)*")/).map((part, i) =>
    i % 2 ? part : part.replace(/[{}\[\],:]/g, (sign) => {
      const comma = /[}\]]/.test(sign) && next() === 6 ? "," : "";
      return comma + bits[next()] + sign + bits[next()];
    })
  ).join("");
}

describe("any document", () => {
  test("in JSON: adding and removing gate's entry changes nothing else", () => {
    fc.assert(
      fc.property(document, indent, eol, (value, space, end) => {
        const before = JSON.stringify(value, null, space).replaceAll("\n", end);
        expectOwnOnly(JSON_TEXT, before, JSON.parse);
      }),
      { numRuns: 400 },
    );
  });

  test("in JSONC: comments and trailing commas are kept", () => {
    const dice = fc.array(fc.integer({ min: 0, max: 6 }), { minLength: 5, maxLength: 40 });
    let good = 0;
    fc.assert(
      fc.property(document, indent, dice, (value, space, dice) => {
        const before = litter(JSON.stringify(value, null, space), dice);
        try {
          JSONC_TEXT.read(before, "f");
        } catch {
          return; // a misplaced comma makes the document invalid
        }
        good++;
        expectOwnOnly(JSONC_TEXT, before, (text) => parseJsonc(text));
      }),
      { numRuns: 400 },
    );
    expect(good).toBeGreaterThan(100);
  });

  test("in TOML: adding and removing gate's table changes nothing else", () => {
    const name = fc.constantFrom("a", '"d.e', "'f", "gate-x", "k.l");
    const words = fc.constantFrom(
      '"x # y"',
      "'''\n[servers.gate]\n'''",
      '"""\\""" # "\n"""',
      "[ 1, # c\n  2,\n]",
      "{ k = 'v', l = [\"}\"] }",
      "1979-05-27T07:32:00Z",
      "0x1F",
      "true",
      "-inf",
    );
    const line = fc.oneof(
      fc.tuple(name, words).map((pair) => pair),
      fc.constantFrom("", "# [servers.gate]", "   "),
    );
    const header = fc.constantFrom("[t", "[[l", "[ servers . 'o", '["t u', "[t.u");
    const table = fc.tuple(header, fc.array(line));
    let good = 0;
    fc.assert(
      fc.property(fc.array(line), fc.array(table), eol, (top, tables, end) => {
        const before = tomlText(top, tables).replaceAll("\n", end);
        let value: unknown;
        try {
          value = TOML_TEXT.read(before, "f");
        } catch {
          return; // a duplicate key or table makes the document invalid
        }
        good++;
        const after = editText(TOML_TEXT, before, ADD, "f");
        expect(insertedInto(before, after)).toContain("gate");
        const read = TOML_TEXT.read(after, "f") as Record<string, Record<string, unknown>>;
        expect(read.servers!.gate).toEqual(ENTRY);
        const back = editText(TOML_TEXT, after, REMOVE, "f");
        expect(TOML_TEXT.read(back, "f")).toEqual(value);
        expect(before === "" || back.startsWith(before.trimEnd())).toBe(true);
      }),
      { numRuns: 400 },
    );
    expect(good).toBeGreaterThan(300);
  });
});

type Line = string | [string, string];

/** Appends a number to each name, so that names are unique. */
function tomlText(top: Line[], tables: [string, Line[]][]): string {
  let n = 0;
  const close = (name: string) => `${name}${n++}${/["']/.exec(name)?.[0] ?? ""}`;
  const text = (line: Line) =>
    typeof line === "string" ? line : `${close(line[0])} = ${line[1]} # c`;
  const head = (name: string) => `${close(name)}${name.startsWith("[[") ? "]]" : "]"}`;
  return [...top.map(text), ...tables.flatMap(([name, lines]) => [head(name), ...lines.map(text)])]
    .join("\n");
}

function expectOwnOnly(editor: TextEditor, before: string, parse: (text: string) => unknown): void {
  const after = editText(editor, before, ADD, "f");
  expect(insertedInto(before, after)).toContain("gate");
  const value = parse(before) as { servers?: object };
  expect(parse(after)).toEqual({ ...value, servers: { ...value.servers, gate: ENTRY } });
  if (before.includes("\r\n")) expect(after).not.toMatch(/[^\r]\n/);
  const back = editText(editor, after, REMOVE, "f");
  expect(parse(back)).toEqual({ ...value, servers: { ...value.servers } });
  // The old content is complete, in order, and has all comments.
  if (value.servers && Object.keys(value.servers).length > 0) {
    expect(withoutBlanks(back)).toBe(withoutBlanks(before));
  }
}

function withoutBlanks(text: string): string {
  return text.replace(/\s+/g, "");
}

describe("editText()", () => {
  const toml = (text: string, path: string[], value: unknown) =>
    editText(TOML_TEXT, text, [{ path, value }], "f");

  test.each([
    [
      "[s.gate]\n  a = 1 # c\n[t]\n",
      ["s", "gate", "b"],
      2,
      "[s.gate]\n  a = 1 # c\n  b = 2\n[t]\n",
    ],
    ["[s.gate] # c\n", ["s", "gate", "b"], "x", '[s.gate] # c\nb = "x"\n'],
    ["[s]\ngate = { a = 1 } # c\n", ["s", "gate", "a"], 2, "[s]\ngate = { a = 2 } # c\n"],
    ["[s.gate]\nenv.A = 'x'\n", ["s", "gate", "env", "A"], "y", '[s.gate]\nenv.A = "y"\n'],
    ["[s.gate.env]\nA = 1\n", ["s", "gate", "env", "B"], 2, "[s.gate.env]\nA = 1\nB = 2\n"],
    [
      "[s.gate]\nenv = { A = 'x', B = 'y' }\n",
      ["s", "gate", "env", "A"],
      undefined,
      '[s.gate]\nenv = { B = "y" }\n',
    ],
    [
      "[s.'gate']\na = [\n 1, # c\n]\nb = 1\n",
      ["s", "gate", "a"],
      [2],
      "[s.'gate']\na = [2]\nb = 1\n",
    ],
    [
      "[s.x]\n[s.gate]\na = 1\n# about t\n[t]\n[s.gate.env]\nb = 1\n",
      ["s", "gate"],
      undefined,
      "[s.x]\n# about t\n[t]\n",
    ],
    ["[s]\ngate = { a = 1 } # c\nx = 1\n", ["s", "gate"], undefined, "[s]\n# c\nx = 1\n"],
  ])("TOML %j: %j becomes %j", (before, path, value, after) => {
    expect(toml(before, path, value)).toBe(after);
  });

  test.each([
    ["mcp_servers = { x = { command = 'a' } }\n", "safely"],
    ["[[s]]\na = 1\n", "safely"],
    ["s = 3\n", "safely"],
    ["a = \n", "line 1, column"],
    ["a = 1\na = 2\n", "line 2, column"],
  ])("TOML %j is an error", (before, why) => {
    const root = before.startsWith("mcp") ? "mcp_servers" : "s";
    expect(() => toml(before, [root, "gate"], ENTRY)).toThrow(why);
  });

  test.each(["s.gate.a = 1\n", "s = { gate = { a = 1 } }\n"])(
    "TOML %j is an error that suggests a separate table",
    (before) => {
      expect(() => toml(before, ["s", "gate", "b"], 2)).toThrow(
        expect.objectContaining({
          next: "give it a table of its own, [s.gate], then the same command",
        }),
      );
    },
  );

  test.each([
    ["// c\n{}", "comments are not allowed at line 1, column 1"],
    ['{"s": {"gate": 1}, "s": {}}', '"s" twice'],
    ['{"s": 1}', "s is no object"],
    ["[]", "it holds no object"],
    ['{"s": {"gate": 1,}}', "line 1, column"],
    ['{"s": "\u0001"}', "line 1, column"],
    ['{\n  "s": tru\n}', "line 2, column 8"],
  ])("JSON %j is an error", (before, why) => {
    const change = [{ path: ["s", "gate"], value: 2 }];
    expect(() => editText(JSON_TEXT, before, change, "f")).toThrow(why);
  });
});
