import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { execs, scenario, serve } from "../cli/scenario/harness.ts";
import { DOCUMENTS, SCENARIOS } from "../cli/scenario/odd_documents.ts";
import { type Ended, SUBJECTS } from "./world.ts";

let folder: string;
let tool: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "gate-scenario-"));
  tool = join(folder, "scenario-tool");
  symlinkSync(SUBJECTS.executable[0], tool);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a program in the folder, with a minimal environment. */
function run(program: string, args: string[], env: Record<string, string> = {}): Promise<Ended> {
  const child = spawn(program, args, {
    cwd: folder,
    env: { HOME: folder, PATH: "/usr/bin:/bin", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended: Ended = { code: null, stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text) => ended.stdout += text);
  child.stderr.setEncoding("utf8").on("data", (text) => ended.stderr += text);
  return new Promise((resolve) => child.on("close", (code) => resolve({ ...ended, code })));
}

function write(scenarios: unknown[], name = "scenarios.json"): void {
  writeFileSync(join(folder, name), JSON.stringify({ scenarios }));
}

const get = (path: string, priority = "high") => ({ mode: "http", method: "GET", path, priority });
const shop = () =>
  serve(({ url = "" }, response) =>
    response.writeHead({ "/crash": 500, "/refused": 409 }[url] ?? 200).end()
  );

describe("exit codes", () => {
  const race = (path: string, priority = "critical") => ({
    ...get(path, priority),
    method: "POST",
    concurrency: 5,
  });
  test.each([
    ["everything passed", [get("/ok", "critical")], 0],
    ["a status as expected", [{ ...get("/refused", "critical"), expected_status: 409 }], 0],
    ["a race that nobody wins", [race("/refused")], 0],
    ["a failure", [get("/crash")], 1],
    ["another status than expected", [{ ...get("/ok"), expected_status: 201 }], 1],
    ["a race of a high scenario", [race("/ok", "high")], 1],
    ["a critical failure", [get("/crash"), get("/crash", "critical")], 2],
    ["a critical race", [race("/ok")], 2],
  ])("%s", async (_name, list, code) => {
    const { url } = await shop();
    write(execs(...list));
    const ended = await run(tool, ["run", "--output", "json", "--target", url]);
    expect({ code: ended.code, said: JSON.parse(ended.stdout).exit_code }).toEqual({
      code,
      said: code,
    });
  });

  test.each([
    ["a valid file", [], 0],
    ["a critical scenario with failure modes", ["--priority", "critical"], 0],
    ["an empty list", ["--filter", "no such title"], 0],
    ["a target for which every scenario is skipped", ["--target", "cli"], 3],
  ])("without a service: %s", async (_name, args, code) => {
    write([scenario({ priority: "critical", exec: { mode: "http", method: "GET", path: "/" } })]);
    const ended = await run(tool, ["run", "--output", "json", ...args]);
    const { executions, exit_code } = JSON.parse(ended.stdout);
    expect([ended.code, exit_code]).toEqual([code, code]);
    expect(executions.filter(({ status }: { status: string }) => status !== "skipped")).toEqual([]);
  });

  test.each([
    ["an unknown flag", ["run", "--nothing"]],
    ["a target without a server", ["run", "--target", "http://127.0.0.1:1"]],
    ["an invalid document", ["run", "--scenarios", "wrong.json"]],
    ["an unknown command", ["walk"]],
  ])("%s exits with 3 and prints nothing to stdout", async (_name, args) => {
    write(execs(get("/")));
    write([scenario({ priority: "Critical" })], "wrong.json");
    const { code, stdout, stderr } = await run(tool, args);
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
    expect(stderr).not.toMatch(/\n\s+at /);
    if (args.includes("wrong.json")) {
      expect(stderr).toMatch(/wrong\.json:1:\d+ \/scenarios\/0\/priority/);
    }
  });
});

describe("a malformed document ends the executable with 3, the pointer and the words", () => {
  test.each([
    ...SCENARIOS.map((row) => ["--scenarios", ...row] as const),
    ...DOCUMENTS.map((row) => ["--spec", ...row] as const),
  ])("%s: %s", async (flag, _name, text, words) => {
    writeFileSync(join(folder, "x.json"), text);
    const { code, stdout, stderr } = await run(tool, ["run", flag, "x.json"]);
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
    expect(stderr.replace(/^scenario-tool: /, "")).toMatch(words);
    expect(stderr).not.toMatch(/\n {4}at |Maximum call stack|Bun v/);
  });
});

describe("10 MB of scenarios", () => {
  const COUNT = 5_000;

  beforeAll(() => {
    write(
      Array.from(
        { length: COUNT },
        (_, n) =>
          scenario({ scenario_id: `TS-${1_000 + n}`, title: `${n} ${"\u00e4".repeat(950)}` }),
      ),
    );
  });

  test("are complete, valid JSON through a slow pipe", async () => {
    const line = `{ "${tool}" run --output json; echo "code $?" >&2; } | dd bs=512 2>/dev/null`;
    const { stdout, stderr } = await run("sh", ["-c", line]);
    expect(new TextEncoder().encode(stdout).length).toBeGreaterThan(10_000_000);
    const { scenarios } = JSON.parse(stdout);
    expect([scenarios.length, scenarios.at(-1).scenario_id]).toEqual([COUNT, "TS-5999"]);
    const note = "Nothing was executed: there is no --target, so only the form was checked";
    expect(stderr).toBe(`${note}\ncode 0\n`);
  });

  test("cause no stack trace and no hang when the reader closes the pipe", async () => {
    const line = `"${tool}" run --output json | head -c 20`;
    const { code, stdout, stderr } = await run("sh", ["-c", line]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '{"scenarios":[{"scen' });
    expect(stderr).not.toMatch(/EPIPE|\n\s+at /);
  });
});

test("a reproduction pack runs alone, and passes once the service is fixed", async () => {
  let isFixed = false;
  const used = new Set<string>();
  const { url } = await serve((request, response) => {
    const path = request.url!;
    if (used.has(path)) return response.writeHead(409).end();
    if (isFixed) used.add(path);
    setTimeout(() => {
      used.add(path);
      response.end();
    }, 50);
  });
  const race = { mode: "http", method: "POST", path: "/{{uniq}}", body: "{}", concurrency: 10 };
  write(execs({ ...race, priority: "critical" }));
  const first = await run(tool, ["run", "--target", url, "--repro", "packs"]);
  expect(first.code, first.stderr).toBe(2);
  const again = () => run("sh", [join(folder, "packs/TS-001/repeat.sh")], { SCENARIO_TOOL: tool });
  expect((await again()).code).toBe(2);
  isFixed = true;
  expect((await again()).code).toBe(0);
  expect(readFileSync(join(folder, "packs/TS-001/README.md"), "utf8")).toContain(
    "All ten succeeded",
  );
});

test("--chaos checks commands without a service and names the one that fails", async () => {
  const command = (script: string) => ({ mode: "cli", command: ["sh", "-c", script] });
  write(execs(command("cat >/dev/null"), command('[ -n "$HOME" ] || kill -ABRT $$')));
  const { code, stdout } = await run(tool, [
    "run",
    "--target",
    "cli",
    "--output",
    "json",
    "--chaos=home-missing,stdin-closed",
  ]);
  const { executions } = JSON.parse(stdout);
  expect(code).toBe(1);
  expect(executions[1].reason).toBe("Under no HOME (home-missing): The command died of SIGABRT");
});
