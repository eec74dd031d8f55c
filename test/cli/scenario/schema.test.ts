import { describe, expect, test } from "vitest";
import { readDocument } from "../../../cli/scenario/document.ts";
import { folder, scenario, tool } from "./harness.ts";

const REQUIRED = [
  "scenario_id",
  "title",
  "user_perspective",
  "preconditions",
  "steps",
  "chaos_factors",
  "expected_behavior",
  "failure_modes",
  "priority",
  "confidence_area",
  "is_edge_case",
];
const TEXTS = ["title", "user_perspective", "expected_behavior", "confidence_area"];
const LISTS = ["preconditions", "steps", "chaos_factors", "failure_modes"];
const http = { mode: "http", method: "GET", path: "/" };

/** Invalid documents with the pointer of the error. */
const BAD: [string, unknown, string][] = [
  ...REQUIRED.map((field): [string, unknown, string] => {
    const { [field]: _left, ...rest } = scenario();
    return [`no ${field}`, [rest], `/0/${field}`];
  }),
  ...TEXTS.flatMap((field): [string, unknown, string][] => [
    [`empty ${field}`, [scenario({ [field]: "" })], `/0/${field}`],
    [`blank ${field}`, [scenario({ [field]: " \n" })], `/0/${field}`],
    [`a number as ${field}`, [scenario({ [field]: 1 })], `/0/${field}`],
  ]),
  ...LISTS.flatMap((field): [string, unknown, string][] => [
    [`a string as ${field}`, [scenario({ [field]: "one" })], `/0/${field}`],
    [`an empty entry in ${field}`, [scenario({ [field]: ["a", ""] })], `/0/${field}/1`],
    [`null in ${field}`, [scenario({ [field]: [null] })], `/0/${field}/0`],
  ]),
  ...["TS-1", "TS-12", "ts-001", "TS001", "TS-00a", "TS-001 ", " TS-001", "", 1, null].map(
    (
      id,
    ): [string, unknown, string] => [
      `id ${JSON.stringify(id)}`,
      [scenario({ scenario_id: id })],
      "/0/scenario_id",
    ],
  ),
  ...["Critical", "urgent", "", 1, null].map((priority): [string, unknown, string] => [
    `priority ${JSON.stringify(priority)}`,
    [scenario({ priority })],
    "/0/priority",
  ]),
  ...["true", 1, null].map((value): [string, unknown, string] => [
    `is_edge_case ${JSON.stringify(value)}`,
    [scenario({ is_edge_case: value })],
    "/0/is_edge_case",
  ]),
  ...([
    [{}, "/mode"],
    [{ ...http, mode: "ftp" }, "/mode"],
    [{ mode: "http", path: "/" }, "/method"],
    [{ mode: "http", method: "GET" }, "/path"],
    [{ ...http, method: "GET /" }, "/method"],
    [{ ...http, method: "" }, "/method"],
    [{ ...http, method: 1 }, "/method"],
    [{ ...http, path: 1 }, "/path"],
    [{ ...http, headers: [] }, "/headers"],
    [{ ...http, headers: { a: 1 } }, "/headers/a"],
    [{ ...http, body: {} }, "/body"],
    [{ ...http, expected_status: "200" }, "/expected_status"],
    [{ ...http, expected_status: 99 }, "/expected_status"],
    [{ ...http, expected_status: 600 }, "/expected_status"],
    [{ ...http, expected_status: 200.5 }, "/expected_status"],
    [{ ...http, concurrency: -1 }, "/concurrency"],
    [{ ...http, concurrency: 1.5 }, "/concurrency"],
    [{ ...http, concurrency: 100_000 }, "/concurrency"],
    [{ ...http, rounds: 0 }, "/rounds"],
    [{ ...http, rounds: 101 }, "/rounds"],
    [{ ...http, rounds: 5 }, "/rounds"],
    [{ ...http, setup: {} }, "/setup"],
    [{ ...http, setup: [{ path: "/" }] }, "/setup/0/method"],
    [{ ...http, setup: [{ method: "GET /", path: "/" }] }, "/setup/0/method"],
    [
      { ...http, setup: [{ method: "PUT", path: "/", expected_status: 9 }] },
      "/setup/0/expected_status",
    ],
    [{ ...http, check: { path: "/" } }, "/check"],
    [{ ...http, check: { equals: 1 } }, "/check/path"],
    [{ ...http, check: { path: "/", pointer: "a", equals: 1 } }, "/check/pointer"],
    [{ ...http, check: { path: "/", changes_by: "1" } }, "/check/changes_by"],
    [{ mode: "cli" }, "/command"],
    [{ mode: "cli", command: [] }, "/command"],
    [{ mode: "cli", command: [""] }, "/command"],
    [{ mode: "cli", command: "ls" }, "/command"],
    [{ mode: "cli", command: ["ls", 1] }, "/command/1"],
    [{ mode: "cli", command: ["ls"], expected_exit: 256 }, "/expected_exit"],
    [{ mode: "cli", command: ["ls"], expected_exit: "0" }, "/expected_exit"],
  ] as [unknown, string][]).map(([exec, at]): [string, unknown, string] => [
    `exec ${JSON.stringify(exec)}`,
    [scenario({ exec })],
    `/0/exec${at}`,
  ]),
  ["exec null", [scenario({ exec: null })], "/0/exec"],
  ["exec a list", [scenario({ exec: [] })], "/0/exec"],
  ["two with one id", [scenario(), scenario()], "/1/scenario_id"],
  ["a scenario that is a string", ["TS-001"], "/0"],
  ["a scenario that is null", [null], "/0"],
  ["a document that is a string", "scenarios", ""],
  ["a document that is null", null, ""],
  ["an object without scenarios", { tests: [] }, ""],
  ["scenarios that are an object", { scenarios: {} }, "/scenarios"],
];

test("the table has at least 80 documents", () => expect(BAD.length).toBeGreaterThanOrEqual(80));

describe("an invalid document is refused with the pointer of the error", () => {
  test.each(BAD)("%s", async (_name, document, pointer) => {
    const text = JSON.stringify(document, null, 2);
    const pointers = readDocument(text).findings.map((finding) => finding.pointer);
    expect(pointers).toContain(pointer);
    const { code, stdout, stderr } = await tool(
      folder({ "x.json": text }),
      "run",
      "--scenarios",
      "x.json",
    );
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
    expect(stderr).toContain(`${pointer || "/"} `);
  });
});

test("findings name the line", () => {
  const text = JSON.stringify({ scenarios: [scenario({ priority: "Critical" })] }, null, 2);
  const line = text.split("\n").findIndex((one) => one.includes("Critical")) + 1;
  expect(readDocument(text).findings).toEqual([{
    pointer: "/scenarios/0/priority",
    line,
    column: 19,
    message: 'must be one of "critical", "high", "medium", "low"',
  }]);
});

test.each([
  ["a missing brace", '{"scenarios": [', 1],
  ["a comment", '{\n// no\n"scenarios": []}', 2],
  ["an empty file", "", 1],
  ["a duplicate key", '{"scenarios": [],\n"scenarios": []}', 2],
])("%s is a finding with its line", (_name, text, line) => {
  expect(readDocument(text).findings[0]).toMatchObject({ line });
});

test.each([
  ["a bare array", [scenario()]],
  ["an object", { scenarios: [scenario()] }],
  ["v0.1, with other keys", { project_name: "x", scenarios: [scenario({ notes: "kept" })] }],
  ["expected_status 0", [scenario({ exec: { ...http, expected_status: 0 } })]],
  ["ids with four digits", [scenario({ scenario_id: "TS-1000" })]],
])("%s is valid", (_name, document) => {
  const { scenarios, findings } = readDocument(JSON.stringify(document));
  expect(findings).toEqual([]);
  expect(scenarios).toEqual(Array.isArray(document) ? document : document.scenarios);
});
