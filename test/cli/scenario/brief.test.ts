import { expect, test } from "vitest";
import { execs, folder, serve, tool } from "./harness.ts";

const get = (path: string, priority = "high") => ({ mode: "http", method: "GET", path, priority });

test("--output brief prints one line with the counts and the worst failures", async () => {
  const { url } = await serve((request, response) => {
    response.statusCode = request.url === "/ok" ? 200 : 500;
    response.end("x".repeat(5_000));
  });
  const list = [get("/ok"), ...Array(30).fill(get("/crash", "low")), get("/crash", "critical")];
  const cwd = folder({ "scenarios.json": execs(...list) });
  const { code, stdout } = await tool(cwd, "run", "--output", "brief", "--target", url);
  expect(stdout.trimEnd().split("\n")).toHaveLength(1);
  const brief = JSON.parse(stdout);
  expect(brief).toMatchObject({
    summary: { scenarios: 32, executed: 32, passed: 1, failed: 31, critical_failures: 1 },
    more_failures: 11,
    exit_code: code,
  });
  expect(brief.failures).toHaveLength(20);
  expect(brief.failures[0]).toMatchObject({
    scenario_id: "TS-032",
    priority: "critical",
    happened: "Answered 500: the server failed",
    repeat: expect.stringContaining("curl"),
  });
  expect(stdout.length).toBeLessThan(15_000);
});

test.each([
  ["--from-help", "sh"],
  ["--driver", "command:/bin/true"],
  ["--driver", "openai:gpt-x"],
  ["--driver", "anthropic:claude-x"],
  ["--report", "junit=out.xml"],
  ["--record", "tape"],
  ["--repro", "packs"],
])("--only-requests with %s is a usage error", async (flag, value) => {
  const { url, requests } = await serve((_request, response) => response.end());
  const cwd = folder({ "scenarios.json": execs(get("/")) });
  const argv = ["run", "--target", url, "--only-requests", flag, value];
  const { code, stderr } = await tool(cwd, ...argv);
  expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining("--only-requests") });
  expect(requests).toEqual([]);
});

test("--only-requests with a program in the settings file is a usage error", async () => {
  const { url } = await serve((_request, response) => response.end());
  const cwd = folder({
    "scenarios.json": execs(get("/")),
    "scenario-tool.json": { "from-help": "sh" },
  });
  const { code } = await tool(cwd, "run", "--target", url, "--only-requests");
  expect(code).toBe(3);
});

test("--only-requests skips a scenario that runs a program", async () => {
  const { url } = await serve((_request, response) => response.end());
  const cwd = folder({ "scenarios.json": execs({ mode: "cli", command: ["touch", "planted"] }) });
  const argv = ["run", "--target", url, "--only-requests", "--output", "json"];
  const { stdout } = await tool(cwd, ...argv);
  expect(JSON.parse(stdout).executions).toMatchObject([{
    status: "skipped",
    reason: expect.stringContaining("--only-requests"),
  }]);
});
