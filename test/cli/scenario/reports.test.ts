import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { annotationsOf, stepSummaryOf } from "../../../cli/scenario/report/github.ts";
import { summarize } from "../../../cli/scenario/summary.ts";
import type { Scenario } from "../../../cli/scenario/schema.ts";
import { execs, folder, scenario, serve, tool } from "./harness.ts";

const HOSTILE = 'a<b>&"c\u0000\u001b[31m\ud800 # ::error::\n|`';

/** Runs a passing scenario, a failing one with a hostile title, and one without exec. */
async function reported(format: string): Promise<string> {
  const { url } = await serve((request, response) => {
    response.statusCode = request.url === "/crash" ? 500 : 200;
    response.end(HOSTILE);
  });
  const [ok, crash] = execs(
    { mode: "http", method: "GET", path: "/ok" },
    { mode: "http", method: "GET", path: "/crash" },
  );
  const list = [ok, { ...crash, title: HOSTILE }, scenario({ scenario_id: "TS-003" })];
  const cwd = folder({ "scenarios.json": list });
  const { code } = await tool(cwd, "run", "--target", url, "--report", `${format}=out/report`);
  expect(code).toBe(1);
  return readFileSync(join(cwd, "out/report"), "utf8");
}

test("junit has the counts, replaces illegal characters and escapes markup", async () => {
  const xml = await reported("junit");
  expect(xml).toMatch(/^<\?xml version="1.0"/);
  expect(xml).toContain('tests="3" failures="1" errors="0" skipped="1"');
  // deno-lint-ignore no-control-regex
  expect(xml).not.toMatch(/[\u0000-\u0008\u001b]|\p{Surrogate}/u);
  expect(xml).toContain("a&lt;b&gt;&amp;&quot;c");
});

test("sarif has one result per failure, with rule and location", async () => {
  const log = JSON.parse(await reported("sarif"));
  expect(log).toMatchObject({ version: "2.1.0", runs: [{ results: [{ level: "error" }] }] });
  expect(log.runs[0].results[0].locations[0].physicalLocation.region.startLine).toBe(1);
});

test("tap has a plan and one line per scenario, and hostile titles cannot forge directives", async () => {
  const lines = (await reported("tap")).split("\n");
  expect(lines.slice(0, 2)).toEqual(["TAP version 14", "1..3"]);
  expect(lines.filter((line) => /^(not )?ok /.test(line))).toHaveLength(3);
  expect(lines.find((line) => line.startsWith("not ok 2"))).toContain("\\# ::error::");
  expect(lines.find((line) => line.startsWith("ok 3"))).toContain("# SKIP");
});

test("text counts what proved nothing by its reason; --verbose names each", async () => {
  const { url } = await serve((_request, response) => {
    response.statusCode = 404;
    response.end();
  });
  const presumes = ["record"];
  const get = { mode: "http", method: "GET", path: "/x", expected_status: 200, presumes };
  const cwd = folder({ "scenarios.json": execs(get, get, { ...get, expected_end: "denied" }) });
  const { stdout } = await tool(cwd, "run", "--target", url);
  expect(stdout).toMatch(/Proved nothing:\n {2}TS-001 and 1 more {2}Answered 404 /);
  expect(stdout).toContain("--verbose names each scenario");
  expect(stdout).not.toContain("TS-002 ");
  expect((await tool(cwd, "run", "--target", url, "--verbose")).stdout).toContain("? TS-002 ");
});

test("the last line counts failures and their causes, which JUnit counts", async () => {
  const { url } = await serve((_, response) => {
    response.statusCode = 500;
    response.end();
  });
  const failing = { parameters: [{ name: "q", in: "query", schema: { type: "integer" } }] };
  const get = { ...failing, responses: { 200: { description: "" } } };
  const cwd = folder({ "openapi.json": { openapi: "3.1.0", paths: { "/a": { get } } } });
  const { stdout } = await tool(cwd, "run", "--target", url, "--report", "junit=j.xml");
  const [, failed, causes] = /, (\d+) failed for (\d+) causes?, /.exec(stdout) ?? [];
  expect(Number(failed)).toBeGreaterThan(Number(causes));
  expect(readFileSync(join(cwd, "j.xml"), "utf8")).toContain(` failures="${causes}" `);
});

test("ctrf has the required members", async () => {
  const report = JSON.parse(await reported("ctrf"));
  expect(report).toMatchObject({
    reportFormat: "CTRF",
    results: {
      tool: { name: "scenario-tool" },
      summary: { tests: 3, passed: 1, failed: 1, skipped: 1 },
    },
  });
});

test("json and markdown reports contain the --output format", async () => {
  expect(JSON.parse(await reported("json"))).toMatchObject({ exit_code: 1 });
  expect(await reported("markdown")).toMatch(/^# Scenarios\n/);
});

test.each(["junit", "junit=", "pdf=x", "=x"])("--report %s is a usage error", async (report) => {
  const { code, stderr } = await tool(folder({ "scenarios.json": [] }), "run", "--report", report);
  expect(code).toBe(3);
  expect(stderr).toContain("junit=<file>");
});

describe("what cannot be written is refused before a request is sent", () => {
  test.each([
    [
      "--report",
      "junit=taken",
      /^scenario-tool: Cannot write the report ".*taken": it is a folder/,
    ],
    ["--report", "sarif=file/x", /^scenario-tool: Cannot write the report ".*file\/x": /],
    ["--output", "junit", /Write it to a file: --report junit=<file>\./],
  ])("%s %s", async (option, value, message) => {
    let asked = 0;
    const { url } = await serve((_, response) => {
      asked++;
      response.end();
    });
    const cwd = folder({ "scenarios.json": execs({ mode: "http", method: "GET", path: "/" }) });
    mkdirSync(join(cwd, "taken"));
    writeFileSync(join(cwd, "file"), "");
    const { code, stderr } = await tool(cwd, "run", "--target", url, option, value);
    expect({ code, asked }).toEqual({ code: 3, asked: 0 });
    expect(stderr).toMatch(message);
  });
});

describe("github", () => {
  const many = Array.from(
    { length: 30 },
    (_, n) => scenario({ scenario_id: `TS-${100 + n}`, title: HOSTILE }),
  );
  const failures = many.map(({ scenario_id }) => ({
    scenario_id: String(scenario_id),
    status: "failed" as const,
    reason: `100%\nbad ${"x".repeat(60_000)}`,
    evidence: {},
    duration_ms: 1,
  }));
  const result = summarize(many as Scenario[], failures, {
    target: "http://127.0.0.1",
    duration_ms: 1,
  });

  test("annotations stay within GitHub's limit and count the rest", () => {
    const lines = annotationsOf(result).trimEnd().split("\n");
    expect(lines).toHaveLength(10);
    expect(lines.every((line) => line.startsWith("::error "))).toBe(true);
    expect(lines[0]).toContain("::100%25%0Abad");
    expect(lines.at(-1)).toContain("21 more");
  });

  test("an annotation names the file of a scenario, and no address of the target", () => {
    const places = ["api/openapi.json", "http://127.0.0.1:1/openapi.json"].map((source) => {
      const from = { ...many[0]!, source, line: 7 } as unknown as Scenario;
      const one = { target: "http://127.0.0.1", duration_ms: 1 };
      return annotationsOf(summarize([from], failures.slice(0, 1), one));
    });
    expect(places[0]).toMatch(/^::error file=api\/openapi\.json,line=7,title=/);
    expect(places[1]).toMatch(/^::error title=/);
  });

  test("the step summary is cut to GitHub's limit", () => {
    const summary = stepSummaryOf(result);
    expect(new TextEncoder().encode(summary).length).toBeLessThan(1_048_576);
    expect(summary).toContain("… cut:");
  });
});

test("a secret is sent and never printed in any form", async () => {
  const secret = "s3cr3t/v\u00e4lue";
  const { url, requests } = await serve((request, response) => {
    const given = request.headers.authorization ?? "";
    response.statusCode = 500;
    response.end(
      [given, encodeURIComponent(secret), btoa(unescape(encodeURIComponent(secret)))].join(" "),
    );
  });
  const list = execs({
    mode: "http",
    method: "GET",
    path: "/?key={{TOKEN}}",
    headers: { Authorization: "Bearer {{TOKEN}}" },
  });
  for (const output of ["json", "text", "markdown"]) {
    const cwd = folder({ "scenarios.json": list });
    const argv = ["run", "--target", url, "--output", output, "--secret", `TOKEN=${secret}`];
    const { stdout, stderr } = await tool(cwd, ...argv, "--report", "json=r.json");
    const shown = stdout + stderr + readFileSync(join(cwd, "r.json"), "utf8");
    expect(shown).toContain("TOKEN");
    for (const form of [secret, encodeURIComponent(secret), "czNjcjN0"]) {
      expect(shown).not.toContain(form);
    }
  }
  const auth = requests[0]!.headers[requests[0]!.headers.indexOf("Authorization") + 1]!;
  expect(new TextDecoder().decode(Uint8Array.from(auth, (char) => char.charCodeAt(0)))).toBe(
    `Bearer ${secret}`,
  );
});
