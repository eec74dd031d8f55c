import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { scoreRisk } from "../../../server/risk/bench.ts";
import { startCpuClock } from "../../cpu_clock.ts";

const TABLE = readFileSync(new URL("../../corpora/risk.jsonl", import.meta.url), "utf8");

describe("the table of risk", () => {
  test("the levels agree with the labels, and nothing grave scores low", () => {
    const card = scoreRisk(TABLE);
    expect(card.cases).toBeGreaterThanOrEqual(200);
    expect(card.rate).toBeGreaterThanOrEqual(0.95);
    expect(card.missed).toBe(0);
    const why = card.classes.find((one) => one.class === "why");
    expect(why).toEqual({ class: "why", cases: 10, right: 10 });
  });

  test("equal input gives equal scores", () => {
    expect(scoreRisk(TABLE)).toEqual(scoreRisk(TABLE));
  });

  test("every line has its own id", () => {
    const ids = TABLE.trim().split("\n").map((line) => JSON.parse(line).id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("the weights of a config count", () => {
    const line = '{"command": "terraform apply", "level": "low"}';
    expect(scoreRisk(line).right).toBe(0);
    expect(scoreRisk(line, { risk: { weights: { cloud_change: 10 } } }).right).toBe(1);
  });

  test.each([
    ["no JSON", "{", /line 1 of the table: it is not JSON/],
    ["no level", '{"command": "ls"}', /line 1 of the table: it needs "command"/],
    ["an unknown level", '{"command": "ls", "level": "huge"}', /line 1 of the table/],
    ["no action", '{"level": "low"}', /line 1 of the table/],
    ["an unknown key", '{"command": "ls", "level": "low", "lable": 1}', /line 1 of the table/],
  ])("%s is refused", (_name, line, message) => {
    expect(() => scoreRisk(line)).toThrow(message);
  });

  test.each([
    ["long runs of one letter", "x".repeat(100_000)],
    ["many updates", "update a set b ".repeat(8_000)],
    ["many slashes", "a/".repeat(50_000)],
    ["many pipes", "curl | ".repeat(15_000)],
    ["many secrets", "AKIAIOSFODNN7EXAMPL ".repeat(6_000)],
  ])("%s take no long time", (_name, text) => {
    const lines = [
      { tool: "write_file", path: ".github/workflows/a.yml", content: text, level: "high" },
      { tool: "write_file", path: "a.sql", content: text, level: "low" },
      { tool: "write_file", path: "src/a.ts", content: text, level: "low" },
      { tool: "write_file", path: text.slice(0, 4_000), content: "", level: "low" },
      { tool: "mcp__postgres__query", input: { sql: text }, level: "low" },
    ].map((one) => JSON.stringify(one)).join("\n");
    const cpuMs = startCpuClock();
    scoreRisk(lines);
    expect(cpuMs()).toBeLessThan(2_000);
  });
});
