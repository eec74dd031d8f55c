import { scenario } from "./harness.ts";

/** The least request. */
export const http = { mode: "http", method: "GET", path: "/" };
/** A file with one scenario. */
export const list = (changes: object = {}) => JSON.stringify([scenario({ ...changes })], null, 2);
const nested = (open: string, close: string, depth: number) =>
  open.repeat(depth) + close.repeat(depth);
/** An OpenAPI document. */
export const openapi = (more: object) =>
  JSON.stringify({ openapi: "3.1.0", paths: {}, ...more }, null, 2);
/** A path that is read. */
export const get = { get: { responses: { 200: { description: "" } } } };
/** A document that can be read. */
export const fine = openapi({ paths: { "/a": get } });

/** Files of scenarios that must be refused, with the words. */
export const SCENARIOS: [string, string, RegExp][] = [
  ["an empty file", "", /^x\.json:1:1 \/ is empty: expected JSON/],
  ["blanks only", " \n\t\n", /^x\.json:1:1 \/ is empty/],
  ["a mark and nothing else", "\uFEFF", /^x\.json:1:1 \/ is empty/],
  ["a missing bracket", '[{"a": 1}', /^x\.json:1:10 \/ is not valid JSON: the "\]" is missing/],
  ["a missing brace", '{"scenarios": []', /^x\.json:1:17 .*the "\}" is missing/],
  ["a comma too many in an object", '{"scenarios": [],\n}', /^x\.json:2:1 .*"," too many/],
  ["a comma too many in a list", '{"scenarios": [1,]}', /^x\.json:1:18 .*"," too many/],
  ["a missing comma", '{"a": 1\n "b": 2}', /^x\.json:2:2 .*"," is missing/],
  ["a missing colon", '{"scenarios" []}', /^x\.json:1:14 .*":" is missing/],
  ["single quotes", "{'scenarios': []}", /^x\.json:1:2 .*JSON/],
  ["a name without quotes", "{scenarios: []}", /^x\.json:1:2 .*double quotes/],
  ["a comment", '{\n  // all\n  "scenarios": []}', /^x\.json:2:3 .*no comments/],
  ["an open text", '{"scenarios": "a', /^x\.json:1:15 .*closing double quote/],
  ["two documents", "[] []", /^x\.json:1:4 .*ends before this/],
  ["undefined", "[undefined]", /^x\.json:1:2 .*this word is not JSON/],
  ["NaN", '{"scenarios": NaN}', /^x\.json:1:15 .*this word is not JSON/],
  ["YAML", "scenarios:\n  - a\n", /^x\.json:1:1 .*not JSON/],
  ["HTML", "<html></html>", /^x\.json:1:1 .*is not valid JSON/],
  ["binary", "\u0000\u0001\u0002", /^x\.json:1:1 .*is not valid JSON/],
  ["100,000 arrays", nested("[", "]", 100_000), /^x\.json:1:201 \/ is nested more than 200 levels/],
  ["100,000 open arrays", "[".repeat(100_000), /^x\.json:1:201 .*nested more than 200/],
  ["100,000 objects", '{"a":'.repeat(100_000), /^x\.json:1:1001 .*nested more than 200/],
  ["a number", "42", /^x\.json:1:1 \/ must be an array of scenarios/],
  ["a text", '"scenarios"', /^x\.json:1:1 \/ must be an array of scenarios/],
  ["null", "null", /^x\.json:1:1 \/ must be an array of scenarios/],
  ["an OpenAPI document", fine, /^x\.json:1:1 \/ must be an array of scenarios/],
  ["scenarios as a text", '{\n "scenarios": "a"}', /^x\.json:2:15 \/scenarios must be an array/],
  ["a key twice", '[{"title": "a",\n"title": "b"}]', /^x\.json:2:1 \/0\/title is given twice/],
  ["steps as a text", list({ steps: "x" }), /\/0\/steps must be an array, not a string/],
  ["steps as null", list({ steps: null }), /\/0\/steps must be an array, not null/],
  ["steps as an object", list({ steps: {} }), /\/0\/steps must be an array, not an object/],
  ["a step that is a number", list({ steps: [1] }), /\/0\/steps\/0 must be a string, not a number/],
  [
    "a boolean as a text",
    list({ is_edge_case: "no" }),
    /is_edge_case must be a boolean, not a str/,
  ],
  ["no steps", list({ steps: undefined }), /\/0\/steps is required/],
  ["a wrong priority", list({ priority: "P1" }), /priority must be one of "critical", "high"/],
  ["a wrong id", list({ scenario_id: "1" }), /scenario_id must look like TS-001/],
  ["an id twice", JSON.stringify([scenario(), scenario()]), /TS-001 is also the id of scenario 1/],
  ["a misspelt title", list({ title: undefined, titel: "a" }), /\/0\/titel .*did you mean title\?/],
  ["another case", list({ steps: undefined, Steps: [] }), /\/0\/Steps .*did you mean steps\?/],
  [
    "camel case",
    list({ exec: { ...http, expectedStatus: 200 } }),
    /did you mean expected_status\?/,
  ],
  ["a letter less", list({ exec: { ...http, expected_satus: 200 } }), /mean expected_status\?/],
  ["a misspelt verb", list({ exec: { mode: "http", methd: "GET", path: "/" } }), /mean method\?/],
  ["a misspelt header list", list({ exec: { ...http, header: {} } }), /\/exec\/header .*headers\?/],
  [
    "a misspelt member of a check",
    list({ exec: { ...http, check: { path: "/", equal: 1, at_least: 1 } } }),
    /\/0\/exec\/check\/equal is not known; did you mean equals\?/,
  ],
  ["a status as a text", list({ exec: { ...http, expected_status: "200" } }), /not a string/],
  [
    "http without a path",
    list({ exec: { mode: "http", method: "GET" } }),
    /path is required in mode/,
  ],
];

/** Documents that must be refused, with the words. */
export const DOCUMENTS: [string, string, RegExp][] = [
  ["an empty file", "", /^Cannot read x\.json: it is empty/],
  ["a missing brace", '{"openapi": "3.1.0"', /^Cannot read x\.json:1:20: .*"\}" is missing/],
  ["broken YAML", "a: [1\nb: 2", /^Cannot read x\.json:\d+:\d+: it is not valid YAML/],
  ["a tab in YAML", "a:\n\tb: 1", /^Cannot read x\.json:2:1: it is not valid YAML/],
  ["YAML with a key twice", "openapi: 3.1.0\nopenapi: 3.0.0", /^Cannot read x\.json:2:1: .*unique/],
  ["100,000 arrays", nested("[", "]", 100_000), /^Cannot read x\.json:1:201: .*nested more than/],
  ["deep flow YAML", `a: ${nested("[", "]", 50_000)}`, /^Cannot read x\.json:1:204: .*nested more/],
  ["deep block YAML", "- ".repeat(50_000) + "a", /^Cannot read x\.json:1:1: .*nested more than/],
  ["a YAML bomb", bomb(), /^Cannot read x\.json: .*alias/i],
  ["a list", "[]", /\/ must be an object with "openapi" and "paths", not an array/],
  ["a text", "hello", /\/ must be an object .*not a string/],
  ["an empty object", "{}", /\/openapi is missing/],
  ["an older OpenAPI", openapi({ openapi: "2.1" }), /\/openapi is "2\.1": only 3\.0 and 3\.1/],
  ["a newer OpenAPI", openapi({ openapi: "4.0.0" }), /\/openapi is "4\.0\.0"/],
  ["a misspelt openapi", '{"openAPI": "3.1.0", "paths": {}}', /\/openAPI .*did you mean openapi\?/],
  ["Swagger 1", '{"swaggerVersion": "1.2", "apis": []}', /it is a Swagger 1 document/],
  ["Swagger 3", '{"swagger": "3.0", "paths": {}}', /\/swagger is "3\.0": only "2\.0"/],
  ["AsyncAPI", '{"asyncapi": "2.6.0"}', /it is an AsyncAPI document/],
  ["a JSON Schema", '{"$schema": "https://json-schema.org/x"}', /it is a JSON Schema/],
  ["a file of scenarios", '{"scenarios": []}', /a file of scenarios \(use --scenarios\)/],
  ["a package file", '{"dependencies": {}}', /it is a package file/],
  ["no paths", '{"openapi": "3.1.0"}', /\/paths is missing/],
  [
    "misspelt paths",
    '{"openapi": "3.1.0", "path": {}}',
    /\/path is not known; did you mean paths\?/,
  ],
  ["paths as a list", openapi({ paths: [] }), /\/paths must be an object, not an array/],
  ["paths as null", openapi({ paths: null }), /\/paths must be an object, not null/],
  ["no path", openapi({ paths: {} }), /it names no endpoint/],
  [
    "a path as a text",
    openapi({ paths: { "/a": "x" } }),
    /\/paths\/~1a must be an object with verbs/,
  ],
  [
    "a verb as a text",
    openapi({ paths: { "/a": { get: 1 } } }),
    /\/paths\/~1a\/get must be an obj/,
  ],
  [
    "a loud verb",
    openapi({ paths: { "/a": { GET: {} } } }),
    /\/paths\/~1a\/GET must be written get/,
  ],
  [
    "parameters as an object",
    openapi({ paths: { "/a": { get: { parameters: {} } } } }),
    /\/paths\/~1a\/get\/parameters must be an array/,
  ],
];

function bomb(): string {
  const lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"];
  for (let n = 1; n < 8; n++) {
    lines.push(`a${n}: &a${n} [${Array(10).fill(`*a${n - 1}`).join(", ")}]`);
  }
  return lines.join("\n");
}
