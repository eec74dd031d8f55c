import { readdirSync } from "node:fs";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { CONDITIONS } from "../../../cli/scenario/execute/chaos.ts";
import { execs, folder, runJson, tool } from "./harness.ts";

const NAMES = CONDITIONS.map(({ name }) => name);

interface Run {
  condition: string;
  status: string;
  reason: string;
}

/** Runs a shell script as a scenario's command with chaos conditions. */
async function under(script: string, ...argv: string[]) {
  const command = ["sh", "-c", script, "program"];
  const list = execs({ mode: "cli", command, priority: "critical" });
  const { executions, code } = await runJson(list, "--target", "cli", ...argv);
  const runs: Run[] = executions[0].evidence.chaos ?? [];
  const failed = runs.filter(({ status }) => status === "failed").map(({ condition }) => condition);
  return { code, execution: executions[0], runs, failed };
}

test("a robust program passes all conditions, in table order", async () => {
  const { execution, runs } = await under('printf "%s\\n" "$0" || exit 1', "--chaos");
  expect(runs.map(({ condition }) => condition)).toEqual(NAMES);
  expect(runs.filter(({ status }) => status === "failed")).toEqual([]);
  expect(execution).toMatchObject({
    status: "passed",
    reason: expect.stringMatching(
      /^Exited with 0 as expected, and so under \d+ conditions of chaos/,
    ),
  });
});

describe("each condition changes what its name says", () => {
  const die = "kill -SEGV $$";
  test.each([
    ["tz-far", `if [ "$(date +%z)" = +1400 ]; then exit 3; fi`],
    ["tz-unknown", `if [ "$TZ" = Nowhere/Land ]; then exit 3; fi`],
    ["locale-c", `if [ "$LC_ALL" = C ]; then exit 3; fi`],
    ["locale-turkish", `if [ "$LC_ALL" = tr_TR.UTF-8 ]; then exit 3; fi`],
    ["locale-unknown", `if [ "$LC_ALL" = xx_XX.UTF-8 ]; then exit 3; fi`],
    ["columns-tiny", `if [ "$COLUMNS" = 1 ]; then exit 3; fi`],
    ["term-unknown", `if [ "$TERM" = no-such-terminal ]; then exit 3; fi`],
    ["stdin-closed", "[ -e /dev/fd/0 ] || exit 3"],
    ["stdout-closed", `[ -e /dev/fd/1 ] || ${die}`],
    ["stderr-closed", `[ -e /dev/fd/2 ] || ${die}`],
    ["stdout-full", `printf x 2>/dev/null || ${die}`],
    [
      "home-read-only",
      `touch "\${HOME-/tmp}/x-$$" 2>/dev/null && rm "\${HOME-/tmp}/x-$$" || ${die}`,
    ],
    ["home-missing", `[ -n "\${HOME+set}" ] || ${die}`],
    ["tmp-missing", `[ "$TMPDIR" = /nonexistent/tmp ] && ${die}; :`],
    ["path-empty", `[ -x "$(command -v ls)" ] || ${die}`],
    ["cwd-deleted", `[ -d "$PWD" ] || ${die}`],
  ])("%s", async (name, script) => {
    const { execution, failed, code } = await under(script, "--chaos", name);
    expect({ failed, code }).toEqual({ failed: [name], code: 2 });
    expect(execution.reason).toMatch(new RegExp(`^Under .* \\(${name}\\): .*(SIGSEGV|with 3)`));
  });

  test("stdout-unread", async () => {
    const hangs = "trap '' PIPE; while :; do printf x 2>/dev/null || sleep 30; done";
    const quick = await under("printf x; sleep 0.2; printf y", "--chaos", "stdout-unread");
    expect(quick.runs).toMatchObject([{
      status: "passed",
      reason: expect.stringMatching(/SIGPIPE|with/),
    }]);
    const script = `[ -e marker ] || { : > marker; exit 0; }; ${hangs}`;
    const slow = await under(script, "--chaos", "stdout-unread", "--timeout", "500ms");
    expect(slow.execution.reason).toContain(
      "(stdout-unread): The command did not end within 500 ms",
    );
  });
});

describe("the verdict on a program under chaos", () => {
  test("a non-zero exit code without HOME passes", async () => {
    const { execution } = await under('[ -n "${HOME+set}" ] || exit 9', "--chaos", "home-missing");
    expect(execution.status).toBe("passed");
    expect(execution.evidence.chaos).toMatchObject([{ reason: "Exited with 9" }]);
  });

  test("a crash of a child process counts as a crash", async () => {
    const crash = "sh -c 'kill -SEGV $$'; exit $?";
    const { execution } = await under(
      `[ -n "\${HOME+set}" ] || { ${crash}; }`,
      "--chaos",
      "home-missing",
    );
    expect(execution.reason).toContain("exited with 139: a signal ended it");
  });

  test("a stack trace fails", async () => {
    const trace = "printf 'Traceback (most recent call last):\\n' >&2; exit 1";
    const { execution } = await under(
      `[ -n "\${HOME+set}" ] || { ${trace}; }`,
      "--chaos",
      "home-missing",
    );
    expect(execution.reason).toContain("exited with 1 and a stack trace");
  });

  test("the reason names every failed condition", async () => {
    const { execution, failed } = await under(
      '[ "$LC_ALL" != C ] && [ "$COLUMNS" != 1 ]',
      "--chaos",
    );
    expect(failed).toEqual(["locale-c", "columns-tiny"]);
    expect(execution.reason).toContain(
      "Under the plain C locale (locale-c): Exited with 1 instead of 0; Under",
    );
  });

  test("chaos runs only with --chaos and after a passed plain run", async () => {
    expect((await under("exit 4", "--chaos")).runs).toEqual([]);
    expect((await under("exit 0")).runs).toEqual([]);
  });
});

test("--chaos takes names, excludes names with a minus, and rejects unknown names", async () => {
  expect((await under(":", "--chaos=tz-far,locale-c")).runs).toHaveLength(2);
  const { runs } = await under(":", "--chaos=-cwd-deleted");
  expect(runs.map(({ condition }) => condition)).toEqual(
    NAMES.filter((name) => name !== "cwd-deleted"),
  );
  const { code, stderr } = await tool(folder({ "scenarios.json": [] }), "run", "--chaos", "flood");
  expect(code).toBe(3);
  expect(stderr).toContain("tz-far");
});

test("no temporary folder remains", async () => {
  const own = folder();
  vi.stubEnv("TMPDIR", own);
  onTestFinished(() => void vi.unstubAllEnvs());
  await under(":", "--chaos");
  expect(readdirSync(own).filter((name) => name.startsWith("chaos-"))).toEqual([]);
});
