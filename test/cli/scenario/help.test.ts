import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, onTestFinished, test } from "vitest";
import { ScenarioDocument } from "../../../cli/scenario/schema.ts";
import { execs, folder, runJson, tool } from "./harness.ts";

const SAVED = `Usage: shop [options] [command]

Options:
  -V, --version      print the version
  --output <format>  json, text, markdown

Commands:
  add <name>         Add a thing
`;
/** A program with two commands and one fault. */
const SHOP = (fault = "none") =>
  `#!/bin/sh
help() { printf 'Usage: shop [options] [command]\\n\\nOptions:\\n  --version  print it\\n  --output <format>  json, text\\n  -h, --help\\n\\nCommands:\\n  add <name>  Add it\\n'; exit 0; }
case " $* " in *" --help "*|*" -h "*) [ "$1" = add ] && { printf 'Usage: shop add [options] <name>\\n\\nOptions:\\n  --count <n>  how many\\n  --quiet\\n  --verbose\\n'; exit 0; }; help;; esac
case "$1" in --version) echo 1; exit 0;; esac
touch "$0.worked.$#"
[ "${fault}" = accepting ] && exit 0
[ "${fault}" = hanging ] && sleep 60
echo "shop: wrong usage" >&2
[ "${fault}" = crash ] && printf 'Error: x\\n    at read (/srv/a.js:1:2)\\n' >&2
[ "${fault}" = segv ] && kill -SEGV $$
exit 2
`;

function shop(fault?: string): string {
  const cwd = folder();
  writeFileSync(join(cwd, "shop"), SHOP(fault));
  chmodSync(join(cwd, "shop"), 0o755);
  return cwd;
}

async function generate(cwd: string, ...argv: string[]) {
  const { code, stdout, stderr } = await tool(
    cwd,
    ...["run", "--output", "json", "--from-help", join(cwd, "shop"), ...argv],
  );
  return { code, stderr, ...JSON.parse(stdout || "{}") };
}

describe("--from-help", () => {
  test("--depth limits how deep subcommands are read", async () => {
    const cwd = shop();
    const operations = async (depth: string) =>
      Object.keys((await generate(cwd, "--depth", depth)).summary.coverage.matrix)
        .map((name) => name.replace(`run ${cwd}/`, ""));
    expect(await operations("light")).toEqual(["shop"]);
    expect(await operations("normal")).toEqual(["shop", "shop add"]);
  });

  test("scenarios are valid and the same each time, and a small budget covers every command", async () => {
    const cwd = shop();
    const { scenarios } = await generate(cwd, "--depth", "aggressive");
    expect(ScenarioDocument.safeParse(scenarios).success).toBe(true);
    expect((await generate(cwd, "--depth", "aggressive")).scenarios).toEqual(scenarios);
    const few = await generate(cwd, "--depth", "aggressive", "--budget", "2");
    expect(few.summary.coverage.operations).toBe(2);
  });

  test.each([
    ["cli_help", ["--help"], { expected_exit: 0 }],
    ["cli_version", ["--version"], { expected_exit: 0 }],
    ["cli_unknown_option", ["--no-such-option-at-all"], { expected_end: "refused" }],
    ["cli_unknown_command", ["no-such-command-at-all"], { expected_end: "refused" }],
    ["cli_argument_missing", ["add"], { expected_end: "refused" }],
    ["cli_value_missing", ["--output"], { expected_end: "refused" }],
    ["cli_value_bad", ["--output=no-such-value"], { expected_end: "refused" }],
    ["cli_value_bad", ["add", "--count=no-such-value"], { expected_end: "refused" }],
    ["cli_option_twice", ["--output=json", "--output=text", "--help"], { expected_end: "orderly" }],
    ["cli_options_conflict", ["add", "--quiet", "--verbose", "--help"], {
      expected_end: "orderly",
    }],
    ["cli_option_known", ["add", "--quiet", "--help"], { expected_exit: 0 }],
    ["cli_double_dash", ["--", "--no-such-option-at-all"], { expected_end: "orderly" }],
    ["cli_argument_empty", ["add", ""], { expected_end: "orderly" }],
  ])("%s: %j", async (family, words, expected) => {
    const { scenarios } = await generate(shop(), "--depth", "aggressive");
    const found = scenarios.filter((one: { family: string }) => one.family === family)
      .find((one: { exec: { command: string[] } }) =>
        JSON.stringify(one.exec.command.slice(1)) === JSON.stringify(words)
      );
    expect(found.exec).toMatchObject({ mode: "cli", ...expected });
  });

  test.each([
    ["none", 0, []],
    ["accepting", 1, ["cli_argument_missing", "cli_unknown_command", "cli_unknown_option"]],
    ["crash", 1, ["cli_argument_missing", "cli_unknown_command", "cli_unknown_option"]],
    ["segv", 1, ["cli_argument_missing", "cli_unknown_command", "cli_unknown_option"]],
  ])("a program with the fault %s gets the expected failures", async (fault, code, families) => {
    const run = await generate(shop(fault), "--target", "cli", "--depth", "normal");
    const failed = run.scenarios.filter((_: unknown, n: number) =>
      run.executions[n].status === "failed"
    ).map((one: { family: string }) => one.family);
    expect({ code: run.code, failed: expect.arrayContaining(families) }).toEqual({ code, failed });
    if (code === 0) expect(run.summary.executed).toBeGreaterThan(10);
  });

  test("a saved help text is read without running the program", async () => {
    const cwd = folder({ "help.txt": SAVED });
    const { code, stdout } = await tool(
      cwd,
      ...["run", "--output", "json", "--from-help", "shop=help.txt"],
    );
    expect(code).toBe(0);
    const { scenarios } = JSON.parse(stdout);
    expect(scenarios[0].exec.command[0]).toBe("shop");
    expect(scenarios.length).toBeGreaterThan(5);
  });

  test.each([
    ["/no/such/program", "cannot be started"],
    ["./mute", "it prints none"],
    ["shop=missing.txt", "Cannot read"],
    ["shop=empty.txt", "names no option"],
    ["", "names no program"],
  ])("--from-help %j is a usage error", async (given, words) => {
    const cwd = folder({ "empty.txt": "nothing", mute: "#!/bin/sh\n" });
    chmodSync(join(cwd, "mute"), 0o755);
    const { code, stderr } = await tool(cwd, "run", "--from-help", given);
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining(words) });
  });

  test("a program that hangs is killed with its children", async () => {
    const cwd = folder({ shop: "#!/bin/sh\nsleep 60 &\nsleep 60\n" });
    chmodSync(join(cwd, "shop"), 0o755);
    const { code, stderr } = await tool(cwd, "run", "--from-help", join(cwd, "shop"));
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining("prints none") });
  });

  test("--from-help uses no shell", async () => {
    const cwd = shop();
    const { stderr } = await tool(cwd, "run", "--from-help", `${cwd}/shop; touch ${cwd}/planted`);
    expect(stderr).toContain("cannot be started");
  });
});

describe("the target cli", () => {
  test("runs commands without a service and skips HTTP scenarios", async () => {
    const list = execs(
      { mode: "cli", command: ["true"] },
      { mode: "http", method: "GET", path: "/" },
    );
    const { code, executions } = await runJson(list, "--target", "cli");
    expect({ code, statuses: executions.map(({ status }: { status: string }) => status) })
      .toEqual({ code: 0, statuses: ["passed", "skipped"] });
  });

  test.each([
    ["refused", 0, "failed"],
    ["refused", 1, "passed"],
    ["refused", 64, "passed"],
    ["refused", 129, "passed"],
    ["refused", 127, "failed"],
    ["refused", 139, "failed"],
    ["orderly", 0, "passed"],
    ["orderly", 3, "passed"],
    ["orderly", 134, "failed"],
  ])("with expected_end %s, exit code %i has %s", async (expected_end, exit, status) => {
    const list = execs({ mode: "cli", command: ["sh", "-c", `exit ${exit}`], expected_end });
    expect((await runJson(list, "--target", "cli")).executions[0].status).toBe(status);
  });

  test("an argument with a NUL byte is a failed scenario, not a crash of the tool", async () => {
    const list = execs({ mode: "cli", command: ["true", "a\u0000b"] });
    const { executions } = await runJson(list, "--target", "cli");
    expect(executions[0]).toMatchObject({
      status: "failed",
      reason: expect.stringContaining("cannot be started"),
    });
  });
});

describe.skipIf(process.platform === "win32")("real programs", () => {
  test.each(["git", "tar"])("%s passes the scenarios from its help", async (program) => {
    const here = process.cwd();
    const cwd = folder();
    process.chdir(cwd);
    onTestFinished(() => process.chdir(here));
    const { code, stdout } = await tool(
      cwd,
      ...["run", "--target", "cli", "--from-help", program, "--depth", "light", "--output", "json"],
    );
    const { summary } = JSON.parse(stdout);
    expect({ code, failed: summary.failed }).toEqual({ code: 0, failed: 0 });
    expect(summary.executed).toBeGreaterThanOrEqual(2);
  });
});
