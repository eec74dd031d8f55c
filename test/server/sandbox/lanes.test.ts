import { execFileSync } from "node:child_process";
import { mkdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Lanes } from "../../../server/sandbox/lanes.ts";
import { createTempFolder } from "../../temp_folder.ts";

const lane = (action_id: string, ...folders: string[]) => ({
  ...{ action_id, folders, at_most_ms: 60_000 },
});

test("proved commands stay apart from sandboxed ones of the same folders, and of no others", async () => {
  const lanes = new Lanes(20);
  expect(lanes.outside("1", lane("one", "/p"))).toBe(true);
  expect(lanes.outside("2", lane("two", "/p"))).toBe(true);
  expect(await lanes.behind("3", lane("three", "/p/inner"))).toBe(false);
  expect(await lanes.behind("4", lane("four", "/pq"))).toBe(true);
  expect(await lanes.behind("5", lane("five", "/pq"))).toBe(true);
  expect(lanes.outside("6", lane("six", "/"))).toBe(false);
  expect(lanes.outside("7", lane("seven", "/q"))).toBe(true);
});

test("while a command may write outside its project, no proved one of any project runs", async () => {
  const lanes = new Lanes(20);
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
  const lanes = new Lanes(30_000);
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
  const lanes = new Lanes(20);
  expect(lanes.outside("1", lane("one", "/p"))).toBe(true);
  expect(lanes.outside("2", lane("one", "/p"))).toBe(true);
  lanes.leave("2");
  expect(await lanes.behind("3", lane("two", "/p"))).toBe(false);
});

test("a run that nobody reports counts until its time is over", async () => {
  const lanes = new Lanes(200);
  lanes.outside("1", { ...lane("one", "/p"), at_most_ms: 50 });
  expect(await lanes.behind("2", lane("two", "/p"))).toBe(true);
});

test("a run whose process is gone counts no longer, and holds nothing", async () => {
  const lanes = new Lanes(20);
  let is_gone = false;
  expect(await lanes.behind("1", { ...lane("one", "/p"), is_gone: () => is_gone })).toBe(true);
  expect([lanes.holds("one"), lanes.outside("2", lane("two", "/p"))]).toEqual([true, false]);
  is_gone = true;
  expect([lanes.holds("one"), lanes.outside("2", lane("two", "/p"))]).toEqual([false, true]);
  expect(lanes.holds("two")).toBe(false);
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
  const lanes = new Lanes(20);
  expect(await lanes.behind("1", lane("one", second))).toBe(true);
  expect(lanes.outside("2", lane("two", main))).toBe(false);
});
