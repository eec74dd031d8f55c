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
