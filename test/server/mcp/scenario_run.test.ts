import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import {
  namedSecrets,
  scenarioCommand,
  ScenarioRunInput,
  withFigures,
} from "../../../server/mcp/scenario_run.ts";
import { connectAgent } from "./agent.ts";

const TARGET = "http://127.0.0.1:3000";
const ALWAYS = `gate scenario run --only-requests --output brief --target=${TARGET}`;

test.each<[string, Partial<ScenarioRunInput>, string]>([
  ["a target alone", {}, ALWAYS],
  [
    "files",
    { scenarios: ["a.json"], spec: ["b c.yaml"] },
    `${ALWAYS} --scenarios=a.json '--spec=b c.yaml'`,
  ],
  [
    "numbers and words",
    { depth: "light", budget: 50, priority: ["critical", "high"] },
    `${ALWAYS} --depth=light --budget=50 --priority=critical --priority=high`,
  ],
  ["a pattern", { filter: "it's; rm -rf $HOME" }, `${ALWAYS} '--filter=it'\\''s; rm -rf $HOME'`],
  [
    "identities",
    { identities: { alice: "X-Key: {{ALICE}}" }, secrets: ["ALICE"] },
    `${ALWAYS} '--as=alice=X-Key: {{ALICE}}' --secret=ALICE`,
  ],
])("%s: the command line", (_name, more, expected) => {
  const input = ScenarioRunInput.parse({ target: TARGET, ...more });
  expect(scenarioCommand(["gate"], input)).toBe(expected);
});

test("a shell reads every word as it was given", () => {
  const nasty = "'\"$(id)`id`\\ \n;&|<>*?[]{}~!#é\u{1f600}";
  const input = ScenarioRunInput.parse({ target: TARGET, filter: nasty, spec: [nasty] });
  const command = scenarioCommand(["printf", "%s\\0"], input);
  const words = execFileSync("/bin/sh", ["-c", command]).toString().split("\0");
  expect(words).toEqual(expect.arrayContaining([`--filter=${nasty}`, `--spec=${nasty}`]));
});

test.each([
  ["no target", {}],
  ["a target that is no web address", { target: "ftp://127.0.0.1" }],
  ["the target cli", { target: "cli" }],
  ["a file that would be an option", { target: TARGET, scenarios: ["--report=junit=x"] }],
  ["a header with a second line", { target: TARGET, headers: ["A: b\r\nC: d"] }],
  ["an unknown option", { target: TARGET, from_help: "sh" }],
  ["too many files", { target: TARGET, spec: Array(21).fill("a") }],
])("%s is refused before anything is recorded", async (_name, args) => {
  const agent = await connectAgent();
  const { isError, body } = await agent.call("scenario_run", args);
  expect({ isError, code: (body.error as { code: string }).code }).toEqual({
    isError: true,
    code: "invalid",
  });
  expect(agent.daemon.actions.size).toBe(0);
  await agent.close();
});

describe("the answer", () => {
  const brief = (failed: number, exit_code: number, executed = 3) =>
    JSON.stringify({
      summary: { scenarios: 3, executed, failed },
      failures: failed ? [{ scenario_id: "TS-001", priority: "critical" }] : [],
      more_failures: 0,
      exit_code,
    });
  const of = (output: string, command = ALWAYS) =>
    withFigures({ structuredContent: { message: "m", command, output }, content: [] })
      .structuredContent as Record<string, unknown>;

  test.each([
    ["failures", brief(1, 2), "1 of 3 executed scenarios failed, some of them critical"],
    ["less than critical", brief(1, 1), "1 of 3 executed scenarios failed: see"],
    ["none", brief(0, 0), "All 3 executed"],
    ["nothing tested", brief(0, 0, 0), "Nothing was tested"],
    ["words before it", `a note\n${brief(0, 0)}\n`, "All 3 executed"],
  ])("%s", (_name, output, words) => {
    expect(of(output).message).toContain(words);
    expect(of(output).summary).toMatchObject({ scenarios: 3 });
    expect(of(output)).not.toHaveProperty("output");
  });

  test.each([
    ["an error of the tool", "scenario-tool: Cannot reach it", ALWAYS],
    ["what was cut", brief(1, 1).slice(0, 40), ALWAYS],
    ["what is none of ours", '{"summary": 1}', ALWAYS],
    ["another command's output", brief(1, 1), "cat result.json"],
  ])("%s stays as it is", (_name, output, command) => {
    expect(of(output, command)).toEqual({ message: "m", command, output });
  });
});

describe("namedSecrets() reads the variables of --secret", () => {
  const RUN = "gate scenario run --only-requests --output brief --target=http://localhost:1";
  test.each([
    [`${RUN} --secret=BOB --secret=ALICE`, ["BOB", "ALICE"]],
    [`${RUN} '--header=A: b c' --secret=BOB`, ["BOB"]],
    [`${RUN} '--header=A: --secret=NO'`, []],
    [`${RUN} --secret=BOB; env`, []],
    [`${RUN} --secret=BOB $(env)`, []],
    [`${RUN} --secret=BOB\nenv`, []],
    ["env --secret=BOB", []],
    [`node x.js ${RUN} --secret=BOB`, []],
    [RUN.replace("gate", "src/gate") + " --secret=BOB", []],
  ])("%s", (command, names) => {
    expect(namedSecrets(["gate"], command)).toEqual(names);
  });
});
