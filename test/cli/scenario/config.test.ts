import process from "node:process";
import { afterEach, expect, test } from "vitest";
import { execs, folder, serve, tool } from "./harness.ts";

afterEach(() => {
  delete process.env.SCENARIO_OUTPUT;
});

const list = execs({ mode: "http", method: "GET", path: "/" });

test("flags override the environment, which overrides the settings file", async () => {
  const { url, requests } = await serve((_request, response) => response.end());
  const config = {
    target: url,
    output: "markdown",
    header: ["A: 1", "B: 2"],
    bail: true,
    workers: 2,
  };
  const cwd = folder({ "scenarios.json": list, "scenario-tool.json": config });
  expect((await tool(cwd, "run")).stdout).toMatch(/^# Scenarios/);
  expect(requests[0]!.headers).toEqual(expect.arrayContaining(["A", "1", "B", "2"]));
  process.env.SCENARIO_OUTPUT = "json";
  expect(JSON.parse((await tool(cwd, "run")).stdout).summary.executed).toBe(1);
  expect((await tool(cwd, "run", "--output", "text")).stdout).toContain("1 scenario: 1 executed");
});

test.each([
  [{ tarket: "x" }, 'no option "tarket"'],
  [{ workers: "many" }, "scenario-tool.json: workers"],
  [{ bail: "yes" }, "bail: it must be true or false"],
  [{ header: [{}] }, "header: it must be a string"],
  [[], "an object of options"],
  ["{", "Cannot read scenario-tool.json"],
])("%j is a usage error that names the key", async (config, words) => {
  const cwd = folder({ "scenarios.json": list, "scenario-tool.json": config });
  const { code, stderr } = await tool(cwd, "run");
  expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining(words) });
});

test("an invalid value in the environment is a usage error", async () => {
  process.env.SCENARIO_OUTPUT = "xml";
  const { code, stderr } = await tool(folder({ "scenarios.json": list }), "run");
  expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining("SCENARIO_OUTPUT") });
});
