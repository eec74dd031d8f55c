import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, test } from "vitest";
import { folder, scenario, serve, tool } from "./harness.ts";

type Move = { name: unknown; arguments: unknown };
const request = (path: string): Move => ({
  name: "http_request",
  arguments: { method: "GET", path },
});
const verdict = (verdict: string, evidence: string[], claims: object[]): Move => ({
  name: "submit_verdict",
  arguments: { verdict, evidence, claims, reason: "because" },
});
const seen = (id: string, status: number) => ({ id, status });

const target = () =>
  serve((request, response) => {
    response.statusCode = request.url === "/forbidden" ? 204 : 200;
    response.end("hello");
  });

/** Runs one critical scenario with a driver. The files may contain a cassette or a program. */
async function judged(files: Record<string, string>, driver: string) {
  const { url } = await target();
  const cwd = folder({ "scenarios.json": [scenario({ priority: "critical" })], ...files });
  if (files.player !== undefined) chmodSync(join(cwd, "player"), 0o755);
  const argv = ["run", "--output", "json", "--target", url, "--driver", driver];
  const { code, stdout, stderr } = await tool(cwd, ...argv);
  return { code, stderr, execution: stdout === "" ? null : JSON.parse(stdout).executions[0] };
}

const tape = (turns: Move[][]) =>
  JSON.stringify({
    scenario_id: "TS-001",
    moves: turns.map((moves) => moves.map((move, n) => ({ id: `${n}`, ...move }))),
  });

describe("a cassette", () => {
  test.each<[string, Move[][], string]>([
    ["passes without citing all requests", [[request("/forbidden"), request("/")], [
      verdict("pass", ["r2"], [seen("r2", 200)]),
    ]], "leaves out r1"],
    ["claims an empty text", [[request("/")], [
      verdict("pass", ["r1"], [{ id: "r1", body_contains: "" }]),
    ]], "is empty"],
    ["claims a blank text", [[request("/")], [
      verdict("fail", ["r1"], [{ id: "r1", body_contains: " \n" }]),
    ]], "is empty"],
    ["cites an entry without a claim", [[request("/"), request("/forbidden")], [
      verdict("pass", ["r1", "r2"], [seen("r1", 200)]),
    ]], "claims nothing"],
    ["calls names from Object.prototype", [[{ name: "__proto__", arguments: {} }], [
      { name: "constructor", arguments: null },
      verdict("pass", [], []),
    ]], "no request was sent"],
  ])("that %s is inconclusive", async (_name, turns, why) => {
    const { code, execution } = await judged({ tape: tape(turns) }, "replay:tape");
    expect({ code, status: execution.status }).toEqual({ code: 0, status: "inconclusive" });
    expect(execution.reason).toContain(why);
  });

  test("with a true verdict that cites all requests passes", async () => {
    const turns = [[request("/"), request("/forbidden")], [
      verdict("pass", ["r1", "r2"], [seen("r1", 200), seen("r2", 204)]),
    ]];
    expect((await judged({ tape: tape(turns) }, "replay:tape")).execution.status).toBe("passed");
  });

  test.each([
    ["with a null move", { scenario_id: "TS-001", moves: [[null]] }],
    ["with a move without a name", { scenario_id: "TS-001", moves: [[{}]] }],
    ["with a name that is not a string", {
      scenario_id: "TS-001",
      moves: [[{ id: "1", name: 1, arguments: {} }]],
    }],
    ["with a string in place of moves", { scenario_id: "TS-001", moves: ["x"] }],
    ["with an id that is not a string", { scenario_id: 1, moves: [] }],
  ])("%s is a usage error that names the line", async (_name, track) => {
    const { code, stderr } = await judged({ tape: JSON.stringify(track) }, "replay:tape");
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining("tape:1") });
  });
});

describe("a broken program", () => {
  test.each([
    ["writes an endless line", "yes aaaaaaaaaaaaaaaa | tr -d '\\n'", "a line without an end"],
    ["writes a number", "echo 42; sleep 9", "not a JSON object"],
    ["exits at once", "exit 3", "without a verdict"],
    ["exits within a line", 'printf \'{"name": "submit_v\'', "not a JSON object"],
    [
      "sends empty calls forever",
      "echo '{}'; while read -r line; do echo '{}'; done",
      "12 turns",
    ],
  ])("that %s is inconclusive", async (_name, body, why) => {
    const player = `#!/bin/sh\nread -r first\n${body}\n`;
    const { code, execution } = await judged({ player }, "command:player");
    expect({ code, status: execution.status }).toEqual({ code: 0, status: "inconclusive" });
    expect(execution.reason).toContain(why);
  });

  test.each([["missing", "command:nobody"], ["a folder", "command:."]])(
    "that is %s is a usage error",
    async (_name, driver) => {
      const { code, stderr } = await judged({}, driver);
      expect({ code, stderr }).toEqual({
        code: 3,
        stderr: expect.stringContaining("not an executable file"),
      });
    },
  );

  test("that is not executable is a usage error", async () => {
    const { code } = await judged({ text: "hello" }, "command:text");
    expect(code).toBe(3);
  });
});

describe("a misbehaving model API", () => {
  const message = (tool_calls: unknown) => ({ choices: [{ message: { tool_calls } }] });
  test.each<[string, unknown]>([
    ["null", null],
    ["a list", []],
    ["no message", { choices: [{}] }],
    ["choices as a string", { choices: "x" }],
    ["calls that are not a list", message({ a: 1 })],
    ["empty calls", message([null, {}, { id: 1, function: null }])],
    ["negative tokens", { ...message([{}]), usage: { total_tokens: -1e12 } }],
    ["tokens as a string", { ...message([{}]), usage: { total_tokens: "many" } }],
  ])("that answers %s makes the scenario inconclusive", async (_name, answer) => {
    const model = await serve((_request, response) => response.end(JSON.stringify(answer)));
    process.env.OPENAI_BASE_URL = model.url;
    const { code, execution } = await judged({}, "openai:x");
    expect({ code, status: execution.status }).toEqual({ code: 0, status: "inconclusive" });
  });

  test("an endless response is cancelled", async () => {
    const model = await serve((_request, response) => {
      const chunk = " ".repeat(64 * 1024);
      const write = () => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on("drain", write);
      write();
    });
    process.env.OPENAI_BASE_URL = model.url;
    const { execution } = await judged({}, "openai:x");
    expect(execution).toMatchObject({
      status: "inconclusive",
      reason: expect.stringContaining("without an end"),
    });
  });

  test("at most fifty calls of one turn are executed", async () => {
    const turns = [Array.from({ length: 1_000 }, () => request("/")), [verdict("pass", [], [])]];
    const { url, requests } = await target();
    const cwd = folder({
      "scenarios.json": [scenario({ priority: "critical" })],
      tape: tape(turns),
    });
    const argv = ["run", "--output", "json", "--target", url, "--max-requests", "900"];
    await tool(cwd, ...argv, "--driver", "replay:tape");
    expect(requests).toHaveLength(50);
  });
});

test("a cassette that cannot be written is a usage error", async () => {
  const { url } = await target();
  const cwd = folder({ "scenarios.json": [scenario()], tape: tape([[request("/")]]) });
  writeFileSync(join(cwd, "file"), "");
  const argv = ["run", "--target", url, "--driver", "replay:tape", "--record", "file/tape"];
  const { code, stderr } = await tool(cwd, ...argv);
  expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining("cassette") });
});
