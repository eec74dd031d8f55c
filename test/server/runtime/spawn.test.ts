import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { expect, test } from "vitest";
import { runCommand, type RunOptions } from "../../../server/runtime/spawn.ts";
import { createTempFolder } from "../../temp_folder.ts";

const cwd = createTempFolder("spawn");
/** The programs that must not be waited for sleep so long; half of it is time enough for any machine. */
const SLEEP_MS = 60_000;
const run = (command: string, options: Partial<RunOptions> = {}) =>
  runCommand(command, { cwd, timeout_ms: 10_000, max_output_bytes: 10_000, ...options });

test.each([
  ["echo hello", { exit_code: 0, output: "hello\n", truncated: false }],
  ["exit 7", { exit_code: 7, output: "" }],
  ["echo out; echo err >&2; echo out2", { output: "out\nerr\nout2\n" }],
  ["pwd", { output: `${cwd}\n` }],
  ["cat", { exit_code: 0, output: "" }],
  ["[[ a == a ]] && echo $((1+2))", { output: "3\n" }],
  ["nosuchprogram_x", { exit_code: 127 }],
  ["echo 'quo\"ted $x'", { output: 'quo"ted $x\n' }],
])("runCommand(%j)", async (command, expected) => {
  expect(await run(command)).toMatchObject(expected);
});

test("a folder that does not exist is an error, not an exception", async () => {
  const result = await run("true", { cwd: join(cwd, "nowhere") });
  expect(result).toMatchObject({ exit_code: null, output: "" });
  expect(result.error).toMatch(/Cannot run the command/);
});

test("variables that change what a shell runs are not handed on", async () => {
  const env = {
    ...process.env,
    BASH_ENV: "/nowhere",
    CDPATH: "/",
    "BASH_FUNC_ls%%": "() { echo no; }",
  };
  const { output } = await run("ls() { builtin :; }; unset -f ls; echo [$BASH_ENV$CDPATH]", {
    env,
  });
  expect(output).toBe("[]\n");
});

test("output over the cap keeps head and tail and says what is missing", async () => {
  const { output, truncated } = await run("seq 1 100000", { max_output_bytes: 1000 });
  expect(truncated).toBe(true);
  expect(new TextEncoder().encode(output).length).toBeLessThanOrEqual(1000);
  expect(output).toMatch(/^1\n2\n3\n/);
  expect(output).toMatch(/99999\n100000\n$/);
  expect(output).toMatch(/\[… \d+ of 588895 bytes cut …\]/);
});

test.each([0, 1, 7, 60, 100])("a cap of %i bytes holds", async (max_output_bytes) => {
  const { output, truncated } = await run("printf 'äöü%.0s' {1..500}", { max_output_bytes });
  expect(truncated).toBe(true);
  expect(new TextEncoder().encode(output).length).toBeLessThanOrEqual(max_output_bytes);
  expect(output).not.toContain("\ufffd");
});

test("a flood of output takes a fraction of its size in memory", async () => {
  const before = process.memoryUsage().rss;
  const { output, truncated } = await run("head -c 500000000 /dev/zero; echo end", {
    timeout_ms: 25_000,
  });
  expect(truncated).toBe(true);
  expect(output).toMatch(/end\n$/);
  expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024);
});

test("on time-out the whole group is ended, also what ignores the polite signal", async () => {
  const { exit_code, error, output, duration_ms } = await run(
    "trap '' TERM; (trap '' TERM; sleep 60) & echo $!; sleep 60; sleep 60",
    { timeout_ms: 200 },
  );
  expect({ exit_code, error }).toEqual({
    exit_code: null,
    error: "Timed out after 0.2 s: it was stopped",
  });
  expect(duration_ms).toBeLessThan(SLEEP_MS / 2);
  await expect.poll(() => isGone(Number(output))).toBe(true);
});

test("a child in the background neither holds the answer up nor outlives it", async () => {
  const { exit_code, output, duration_ms } = await run("sleep 60 & echo $!");
  expect(exit_code).toBe(0);
  expect(duration_ms).toBeLessThan(SLEEP_MS / 2);
  await expect.poll(() => isGone(Number(output))).toBe(true);
});

test("an abort ends it", async () => {
  const stop = new AbortController();
  const running = run("sleep 60", { signal: stop.signal });
  stop.abort();
  expect(await running).toMatchObject({
    exit_code: null,
    error: expect.stringMatching(/^Stopped/),
  });
  expect((await run("true", { signal: stop.signal })).error).toBe("Stopped before it began");
});

test("a command ended by a signal says which", async () => {
  expect(await run("kill -9 $$")).toMatchObject({ exit_code: null, error: "Ended by SIGKILL" });
});

/** Ended: no longer there, or dead and not yet collected by its new parent. */
function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return process.platform === "linux" && / Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return true;
  }
}
