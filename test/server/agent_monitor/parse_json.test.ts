import { expect, test } from "vitest";
import { parseJson } from "../../../server/agent_monitor/parse_json.ts";

const long = (text: string, size = 700_000) => text.repeat(Math.ceil(size / text.length));

test.each<[string, string]>([
  ["a long text", JSON.stringify({ text: long("a, [b] {c} ") })],
  ["a text with quotes", JSON.stringify({ text: long('say "a, b" \\\\ ') })],
  ["a text that ends with a backslash", JSON.stringify([long("x"), "\\", "\\\\", '\\"', ","])],
  [
    "many values, as many as an agent writes",
    JSON.stringify(Array.from({ length: 5_000 }, String)),
  ],
  ["a short text of many values", `[${"1,".repeat(9_000)}1]`],
])("%s is parsed", (_name, text) => {
  expect(parseJson(text)).toEqual(JSON.parse(text));
});

test.each<[string, string]>([
  ["lists", `[${long("[],")}[]]`],
  ["objects", `[${long("{},")}{}]`],
  ["numbers", `[${long("1,")}1]`],
  ["texts", `[${long('"a",')}"a"]`],
  ["keys", `{${Array.from({ length: 60_000 }, (_, at) => `"${at}":1`).join(",")}}`],
  ["numbers behind a text", `["${long("x", 100)}\\\\",${long("1,")}1]`],
])("many %s are refused before they are parsed", (_name, text) => {
  expect(() => JSON.parse(text)).not.toThrow();
  expect(() => parseJson(text)).toThrow("more than 20000 values");
});

test.each(["", "{", '"', '"\\', "[1,]", long('"'), long("[")])(
  "a damaged text is refused",
  (text) => {
    expect(() => parseJson(text)).toThrow();
  },
);
