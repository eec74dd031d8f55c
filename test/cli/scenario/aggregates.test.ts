import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { wilson } from "../../../cli/scenario/summary.ts";
import { execs, folder, runJson, serve, tool } from "./harness.ts";

const get = (path: string, more: object = {}) => ({ mode: "http", method: "GET", path, ...more });
const crashing = () =>
  serve((request, response) => {
    response.statusCode = request.url === "/crash" ? 500 : 200;
    response.end();
  });

test.each([
  [0, 0, 0, 1],
  [10, 10, 0.722, 1],
  [0, 10, 0, 0.278],
  [1, 1, 0.207, 1],
  [50, 100, 0.404, 0.596],
])("wilson(%i, %i) is the interval from %f to %f", (passed, total, low, high) => {
  expect(wilson(passed, total)).toEqual({ low, high });
});

test("the summary counts passed and failed scenarios per area", async () => {
  const { url } = await crashing();
  const [ok, crash] = execs(get("/ok"), get("/crash"));
  const { summary } = await runJson(
    [{ ...ok, confidence_area: "b" }, { ...crash, confidence_area: "a" }],
    "--target",
    url,
  );
  expect(summary.areas).toMatchObject([{ area: "a", passed: 0, failed: 1 }, {
    area: "b",
    passed: 1,
    failed: 0,
  }]);
});

describe("--baseline", () => {
  test("an accepted failure is shown and does not change the exit code", async () => {
    const { url } = await crashing();
    const cwd = folder({ "scenarios.json": execs({ ...get("/crash"), priority: "critical" }) });
    const run = (...more: string[]) =>
      tool(cwd, "run", "--output", "json", "--target", url, "--baseline", "base.json", ...more);
    expect((await run()).code).toBe(2);
    expect((await run("--baseline-update")).code).toBe(0);
    const { code, stdout } = await run();
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      summary: { failed: 1, accepted: 1, critical_failures: 0 },
    });
  });

  test("an expired entry counts again, and an update keeps existing dates", async () => {
    const { url } = await crashing();
    const cwd = folder({ "scenarios.json": execs(get("/crash")) });
    const argv = ["run", "--target", url, "--baseline", "base.json"];
    await tool(cwd, ...argv, "--baseline-update");
    const path = join(cwd, "base.json");
    const baseline = JSON.parse(readFileSync(path, "utf8"));
    baseline.accepted[0].until = "2020-01-01";
    writeFileSync(path, JSON.stringify(baseline));
    expect((await tool(cwd, ...argv)).code).toBe(1);
    await tool(cwd, ...argv, "--baseline-update");
    expect(JSON.parse(readFileSync(path, "utf8")).accepted[0].until).toBe("2020-01-01");
  });

  test.each(["{", '{"accepted": [{}]}', '{"accepted": [{"fingerprint": "x", "until": "soon"}]}'])(
    "a broken baseline %j is a usage error",
    async (text) => {
      const { url } = await crashing();
      const cwd = folder({ "scenarios.json": execs(get("/ok")), "base.json": text });
      const { code, stderr } = await tool(cwd, "run", "--target", url, "--baseline", "base.json");
      expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining("baseline") });
    },
  );
});

test("--confirm repeats failures and reports their rate", async () => {
  let n = 0;
  const { url, requests } = await serve((request, response) => {
    response.statusCode = request.url === "/flaky" ? (n++ % 2 === 0 ? 500 : 200) : 500;
    response.end();
  });
  const { code, executions, summary } = await runJson(
    execs(get("/flaky"), get("/crash")),
    "--target",
    url,
    "--confirm",
    "4",
    "--workers",
    "1",
  );
  expect(code).toBe(1);
  expect(executions.map(({ evidence }: { evidence: { confirm: object } }) => evidence.confirm))
    .toEqual([
      { repeated: 4, failed: 2, flaky: true },
      { repeated: 4, failed: 4, flaky: false },
    ]);
  expect({ flaky: summary.flaky, sent: requests.length }).toEqual({ flaky: 1, sent: 10 });
});

test("the coverage matrix lists the families of each operation", async () => {
  const spec = { openapi: "3.1.0", paths: { "/a": { get: { responses: { 200: {} } } } } };
  const { stdout } = await tool(
    folder({ "openapi.json": spec }),
    "run",
    "--output",
    "json",
    "--depth",
    "light",
  );
  expect(JSON.parse(stdout).summary.coverage).toEqual({
    operations: 1,
    families: 1,
    matrix: { "GET /a": ["good_case"] },
  });
});
