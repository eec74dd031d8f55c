import fc from "fast-check";
import { expect, test } from "vitest";
import { parseJson } from "../../../server/guard/json.ts";
import { startCpuClock } from "../../cpu_clock.ts";

const encode = (text: string) => new TextEncoder().encode(text);

test.each([
  ['{"a":1,"a":2}', /"a" is given twice/],
  ['{"a":1,"\\u0061":2}', /"a" is given twice/],
  ['{"x":[{"b":{},"b":1}]}', /"b" is given twice/],
  ['{"a\\"":1,"a\\"":2}', /given twice/],
  ['{"__proto__":{}}', /__proto__/],
  ['{"a":[{"__pr\\u006fto__" : 1}]}', /__proto__/],
  ["[".repeat(65) + "]".repeat(65), /64 deep/],
  ["[".repeat(100_000), /64 deep/],
  ['{"a":'.repeat(70), /64 deep/],
  ["hello", /not valid JSON/],
  ["{'a':1}", /not valid JSON/],
  ['{"a":1,}', /not valid JSON/],
  ['{"a":NaN}', /not valid JSON/],
  ['\ufeff{"a":1}', /not valid JSON/],
  ['{"a":"', /not valid JSON/],
  ['{"a\\x":1}', /not valid JSON/],
])("parseJson() refuses %j", (text, message) => {
  expect(() => parseJson(encode(text))).toThrow(message);
});

const many = (part: string, count: number) => `[${Array(count).fill(part).join(",")}]`;

test.each([
  ["numbers", many("0", 500_001), /over 500000 values/],
  ["lists", many("[]", 300_000), /over 500000 values/],
  ["objects", many("{}", 300_000), /over 500000 values/],
  ["texts", many('""', 500_001), /over 500000 values/],
  ["small objects", many('{"a":1,"b":2}', 25_001), /over 50000 fields/],
  [
    "one object",
    `{${Array.from({ length: 50_001 }, (_, i) => `"${i}":0`).join(",")}}`,
    /over 50000 fields/,
  ],
])("parseJson() refuses more %s than gate handles at once", (_, text, message) => {
  expect(() => parseJson(encode(text))).toThrow(message);
});

test("parseJson() reads as many values and fields as gate handles at once", () => {
  for (const text of [many("0", 499_990), many('{"a":",,,{{[["}', 49_990)]) {
    expect(parseJson(encode(text))).toEqual(JSON.parse(text));
  }
});

test("parseJson() refuses bytes that are not UTF-8", () => {
  expect(() => parseJson(new Uint8Array([0x22, 0xff, 0xfe, 0x22]))).toThrow(/UTF-8/);
});

test.each([
  '{"a":{"a":1},"b":[{"a":1},{"a":2}]}',
  '["a","a"]',
  '{"a":"x","b":"x"}',
  '{"a":"{\\"a\\":1}[[[","b":"\\\\"}',
  "[".repeat(64) + "]".repeat(64),
  " 1 ",
])("parseJson() reads %j", (text) => {
  expect(parseJson(encode(text))).toEqual(JSON.parse(text));
});

test("parseJson() reads the output of JSON.stringify()", () => {
  // parseJson() refuses the key "__proto__".
  const values = fc.jsonValue({ maxDepth: 8 })
    .filter((value) => !JSON.stringify(value).includes('"__proto__"'));
  fc.assert(fc.property(values, (value) => {
    expect(parseJson(encode(JSON.stringify(value)))).toEqual(JSON.parse(JSON.stringify(value)));
  }));
});

test("parseJson() returns undefined for an empty body", () => {
  expect(parseJson(new Uint8Array())).toBeUndefined();
});

test("parseJson() reads 16 MB in less than 2 s of processor time", () => {
  const bytes = encode(JSON.stringify({ input: { content: 'line "one"\\\n'.repeat(1_000_000) } }));
  const cpuMs = startCpuClock();
  parseJson(bytes);
  expect(cpuMs()).toBeLessThan(2_000);
});
