import { Buffer } from "node:buffer";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { execs, folder, scenario, serve, tool } from "./harness.ts";

const http = { mode: "http", method: "GET", path: "/" };
const list = (changes: object = {}) => JSON.stringify([scenario({ ...changes })], null, 2);
const nested = (open: string, close: string, depth: number) =>
  open.repeat(depth) + close.repeat(depth);
const openapi = (more: object) => JSON.stringify({ openapi: "3.1.0", paths: {}, ...more }, null, 2);
const get = { get: { responses: { 200: { description: "" } } } };
const fine = openapi({ paths: { "/a": get } });

/** Files of scenarios that must be refused, with the words. */
const SCENARIOS: [string, string, RegExp][] = [
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
const DOCUMENTS: [string, string, RegExp][] = [
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

test("the tables have at least 60 documents", () => {
  expect(SCENARIOS.length + DOCUMENTS.length).toBeGreaterThanOrEqual(60);
});

/** The messages without the name of the tool. */
const said = (stderr: string) => stderr.replace(/^scenario-tool: /, "");

describe.each([["--scenarios", SCENARIOS], ["--spec", DOCUMENTS]] as const)("%s", (flag, table) => {
  test.each(table as [string, string, RegExp][])("%s", async (_name, text, words) => {
    const { code, stdout, stderr } = await tool(folder({ "x.json": text }), "run", flag, "x.json");
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
    expect(said(stderr)).toMatch(words);
    expect(stderr).not.toMatch(/\n {4}at |Maximum call stack/);
  });
});

describe("an odd document that is read", () => {
  const utf16 = (text: string) => Buffer.from(`\uFEFF${text}`, "utf16le");
  const swapped = (text: string) => utf16(text).swap16();
  const yaml = "openapi: 3.1\npaths:\n  /a:\n    get: {}\n";
  test.each<[string, string, string, Buffer | string]>([
    ["JSON with a mark", "--spec", "a.json", `\uFEFF${fine}`],
    ["YAML with a mark", "--spec", "a.yaml", `\uFEFF${yaml}`],
    ["YAML whose version is a number", "--spec", "a.yml", yaml],
    ["JSON of PowerShell", "--spec", "a.json", utf16(fine)],
    ["JSON in UTF-16, big-endian", "--spec", "a.json", swapped(fine)],
    ["CRLF", "--spec", "a.json", fine.replaceAll("\n", "\r\n")],
    ["scenarios with a mark", "--scenarios", "a.json", `\uFEFF${list()}`],
    ["scenarios of PowerShell", "--scenarios", "a.json", utf16(list())],
    ["members of other tools", "--scenarios", "a.json", list({ notes: "x", owner: "y", tag: 1 })],
    [
      "an extension beside the paths",
      "--spec",
      "a.json",
      openapi({ paths: { "x-a": 1, "/a": get } }),
    ],
  ])("%s", async (_name, flag, file, content) => {
    const cwd = folder();
    writeFileSync(join(cwd, file), content);
    const { code, stdout } = await tool(cwd, "run", flag, file, "--output", "json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout).scenarios.length).toBeGreaterThan(0);
  });
});

test("every bad file is told: scenarios, documents and validate", async () => {
  const cwd = folder({ "a.json": "[", "b.json": list({ steps: "x" }), "c.json": "{}" });
  mkdirSync(join(cwd, "d"));
  const files = ["a.json", "b.json", "c.json", "d", "none.json"];
  for (const flag of ["--scenarios", "--spec"]) {
    const { code, stderr } = await tool(cwd, "run", ...files.flatMap((one) => [flag, one]));
    expect(code).toBe(3);
    for (const name of files) expect(stderr).toContain(name);
    expect(stderr).toContain('Cannot read "d": it is a folder');
  }
  const { code, stderr } = await tool(cwd, "validate", ...files);
  expect(code).toBe(3);
  for (const name of files) expect(stderr).toContain(name);
});

describe("a run without a source", () => {
  test.each([
    "/openapi.json",
    "/openapi.yaml",
    "/v3/api-docs",
    "/swagger/v1/swagger.json",
    "/base/openapi.json",
  ])("generates from %s of the target", async (address) => {
    const { url, requests } = await serve((request, response) => {
      // Many single-page apps answer every address with their page.
      if (request.url !== address && request.url !== "/base/a") return response.end("<html>");
      response.end(request.url === address ? fine : "{}");
    });
    const argv = ["run", "--target", `${url}/base`, "--output", "json", "--filter", "documented"];
    const { code, stdout, stderr } = await tool(folder(), ...argv);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: `Generating from ${url}${address}, which the target serves\n`,
    });
    expect(JSON.parse(stdout).scenarios[0].operation).toBe("GET /a");
    expect(requests.map(({ line }) => line)).toContain("GET /base/a");
  });

  test("says where it looked if the target serves no document", async () => {
    const { url } = await serve((_request, response) => {
      response.statusCode = 404;
      response.end();
    });
    const { code, stdout, stderr } = await tool(folder(), "run", "--target", url);
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
    expect(stderr).toMatch(/no scenarios\.json or openapi\.json here, and the target serves no Op/);
    expect(stderr).toContain("--spec <file>");
  });

  test("a target that does not answer is told as such", async () => {
    const { code, stderr } = await tool(folder(), "run", "--target", "http://127.0.0.1:1");
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining("Cannot reach") });
  });
});

test("--timeout 5 is refused with the unit", async () => {
  const { code, stderr } = await tool(folder(), "run", "--timeout", "5");
  expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining("5s or 5ms") });
});

describe("--filter with a pasted", () => {
  const title = "Asking GET /orders/{id} (twice) [odd] + more?";
  const [first, second] = execs(http, http);
  const scenarios = [{ ...first, title }, { ...second, title: `${title} And once more` }];
  test.each([
    ["title", title, ["TS-001"]],
    ["line of the text", `✗ TS-001  ${title}`, ["TS-001"]],
    ["head of a finding", `TS-001 critical: ${title} (CWE-639)`, ["TS-001"]],
    ["part of a title", "GET /orders/{id} (twice) [odd", ["TS-001", "TS-002"]],
  ])("%s", async (_name, filter, ids) => {
    const cwd = folder({ "scenarios.json": scenarios });
    const { code, stdout } = await tool(cwd, "run", "--filter", filter, "--output", "json");
    expect(code).toBe(0);
    const found = JSON.parse(stdout).scenarios;
    expect(found.map((one: { scenario_id: string }) => one.scenario_id)).toEqual(ids);
  });
});
