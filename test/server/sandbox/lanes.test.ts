import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { identify } from "../../../server/runtime/processes.ts";
import { KeptLanes } from "../../../server/sandbox/kept_lanes.ts";
import { Lanes } from "../../../server/sandbox/lanes.ts";
import { createTempFolder } from "../../temp_folder.ts";

const lane = (action_id: string, ...folders: string[]) => ({
  ...{ action_id, folders, at_most_ms: 60_000 },
});

test("proved commands stay apart from sandboxed ones of the same folders, and of no others", async () => {
  const lanes = new Lanes(null, 20);
  expect(lanes.outside("1", lane("one", "/p"))).toBe(true);
  expect(lanes.outside("2", lane("two", "/p"))).toBe(true);
  expect(await lanes.behind("3", lane("three", "/p/inner"))).toBe(false);
  expect(await lanes.behind("4", lane("four", "/pq"))).toBe(true);
  expect(await lanes.behind("5", lane("five", "/pq"))).toBe(true);
  expect(lanes.outside("6", lane("six", "/"))).toBe(false);
  expect(lanes.outside("7", lane("seven", "/q"))).toBe(true);
});

test("while a command may write outside its project, no proved one of any project runs", async () => {
  const lanes = new Lanes(null, 20);
  expect(lanes.outside("1", lane("one", "/p"))).toBe(true);
  const wide = { ...lane("two", "/q"), writes_elsewhere: true };
  expect(await lanes.behind("2", wide)).toBe(false);
  lanes.end("one");
  expect(await lanes.behind("2", wide)).toBe(true);
  expect(lanes.outside("3", lane("three", "/p"))).toBe(false);
  expect(await lanes.behind("4", lane("four", "/p"))).toBe(true);
  lanes.end("two");
  expect(lanes.outside("3", lane("three", "/r"))).toBe(true);
});

test("a sandboxed command starts as soon as the last proved one ends", async () => {
  const lanes = new Lanes(null, 30_000);
  lanes.outside("1", lane("one", "/p"));
  lanes.outside("2", lane("two", "/p"));
  const behind = lanes.behind("3", lane("three", "/p"));
  lanes.leave("1");
  lanes.end("two");
  expect(await behind).toBe(true);
  expect(lanes.outside("4", lane("four", "/p"))).toBe(false);
  lanes.end("three");
  expect(lanes.outside("4", lane("four", "/p"))).toBe(true);
});

test("a second claim of the same action neither blocks the first one nor ends it", async () => {
  const lanes = new Lanes(null, 20);
  expect(lanes.outside("1", lane("one", "/p"))).toBe(true);
  expect(lanes.outside("2", lane("one", "/p"))).toBe(true);
  lanes.leave("2");
  expect(await lanes.behind("3", lane("two", "/p"))).toBe(false);
});

test("a run that nobody reports counts until its time is over", async () => {
  const lanes = new Lanes(null, 200);
  lanes.outside("1", { ...lane("one", "/p"), at_most_ms: 50 });
  expect(await lanes.behind("2", lane("two", "/p"))).toBe(true);
});

test("a run whose process is gone counts no longer, and holds nothing", async () => {
  const lanes = new Lanes(null, 20);
  const runner = spawn("cat");
  const process = identify(runner.pid!)!;
  expect(await lanes.behind("1", { ...lane("one", "/p"), process })).toBe(true);
  expect([lanes.holds("one"), lanes.outside("2", lane("two", "/p"))]).toEqual([true, false]);
  runner.kill("SIGKILL");
  await once(runner, "exit");
  expect([lanes.holds("one"), lanes.outside("2", lane("two", "/p"))]).toEqual([false, true]);
  expect(lanes.holds("two")).toBe(false);
});

describe("after a restart", () => {
  const start = (gate_home: string, now = Date.now) => new Lanes(new KeptLanes(gate_home, now), 20);

  test("a proved command still keeps its side, until it is reported or its time is over", async () => {
    const gate_home = createTempFolder("lanes");
    const before = start(gate_home);
    expect(before.outside("1", lane("one", "/p"))).toBe(true);
    expect(before.outside("2", lane("two", "/q"))).toBe(true);
    before.leave("2");
    const after = start(gate_home);
    expect(await after.behind("3", lane("three", "/p"))).toBe(false);
    expect(await after.behind("4", lane("four", "/q"))).toBe(true);
    after.end("four");
    const late = start(gate_home, () => Date.now() + 60_000);
    expect(await late.behind("5", lane("five", "/p"))).toBe(true);
    start(gate_home).end("one");
    expect(await start(gate_home).behind("6", lane("six", "/p"))).toBe(true);
  });

  test("a sandboxed command keeps its side until its process is gone", async () => {
    const gate_home = createTempFolder("lanes");
    const runner = spawn("cat");
    const process = identify(runner.pid!)!;
    expect(await start(gate_home).behind("1", { ...lane("one", "/p"), process })).toBe(true);
    const after = start(gate_home);
    expect([after.holds("one"), after.outside("2", lane("two", "/p"))]).toEqual([true, false]);
    runner.kill("SIGKILL");
    await once(runner, "exit");
    expect([after.holds("one"), after.outside("2", lane("two", "/p"))]).toEqual([false, true]);
  });

  test("no command of an earlier start of the machine counts, nor one that was written in part", async () => {
    const gate_home = createTempFolder("lanes");
    expect(start(gate_home).outside("1", lane("one", "/p"))).toBe(true);
    const folder = join(gate_home, "run", "lanes");
    const path = join(folder, "1.json");
    writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, "utf8")), machine: "" }));
    writeFileSync(join(folder, "2.json.new"), "{");
    expect(await start(gate_home).behind("3", lane("three", "/p"))).toBe(true);
    expect(readdirSync(folder)).toEqual(["3.json"]);
  });
});

test("two working trees of one repository share its folder", async () => {
  const base = realpathSync(createTempFolder("lanes"));
  const [main, second] = [join(base, "main"), join(base, "second")];
  mkdirSync(main);
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b.c", ...args], { cwd: main });
  git("init", "-q");
  git("commit", "-q", "--allow-empty", "-m", "first");
  git("worktree", "add", "-q", second);
  const lanes = new Lanes(null, 20);
  expect(await lanes.behind("1", lane("one", second))).toBe(true);
  expect(lanes.outside("2", lane("two", main))).toBe(false);
});
