import { Buffer } from "node:buffer";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { execs, folder, serve, tool } from "./harness.ts";
import { DOCUMENTS, fine, get, http, list, openapi, SCENARIOS } from "./odd_documents.ts";

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
