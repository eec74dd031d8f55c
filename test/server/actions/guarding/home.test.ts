import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Guarding } from "../../../../server/actions/guarding/guarding.ts";
import type { Restored } from "../../../../server/actions/guarding/restore.ts";
import { createTestEnvironment } from "../../../helpers.ts";
import { createTempFolder } from "../../../temp_folder.ts";

const STATE = { mcpServers: { gate: { command: "gate" } }, numStartups: 1, projects: {} };

/** An agent works in the user's home folder; `effect` is what its command does. */
async function guardHome(effect: (user: string) => void) {
  const user = createTempFolder("guard-home");
  const home = join(user, ".gate");
  for (const folder of [".gate/tokens", ".claude/todos", ".cursor"]) {
    mkdirSync(join(user, folder), { recursive: true });
  }
  writeFileSync(join(user, ".claude.json"), JSON.stringify(STATE));
  writeFileSync(join(user, ".claude/settings.json"), '{"hooks":{"PreToolUse":[]}}');
  writeFileSync(join(user, ".cursor/hooks.json"), "{}");
  writeFileSync(join(home, "tokens/agent"), "secret");
  const { environment } = createTestEnvironment(home);
  const guarding = new Guarding(environment, user);
  const told: Restored[] = [];
  await guarding.open({
    action_id: "a",
    root: user,
    cwd: user,
    scripts: [],
    permits: { paths: new Set(), commands: [] },
    report: (restored) => {
      told.push(...restored);
      return Promise.resolve();
    },
  }, []);
  effect(user);
  const restored = await guarding.close("a");
  expect(told).toEqual(restored);
  return { paths: restored.map(({ path }) => path.slice(user.length + 1)), user };
}

test("hosts write their own data into the home while a command runs", async () => {
  const { paths, user } = await guardHome((user) => {
    writeFileSync(join(user, ".claude/history.jsonl"), "{}");
    writeFileSync(join(user, ".claude/todos/1.json"), "{}");
    writeFileSync(join(user, ".cursor/state.json"), "{}");
    const state = { ...STATE, numStartups: 2, projects: { "/x": { history: [] } } };
    writeFileSync(join(user, ".claude.json"), JSON.stringify(state));
  });
  expect(paths).toEqual([]);
  expect(readFileSync(join(user, ".claude.json"), "utf8")).toContain('"numStartups":2');
});

const ATTACKS: [path: string, text: string][] = [
  [".claude.json", JSON.stringify({ ...STATE, mcpServers: {} })],
  [".claude.json", JSON.stringify({ ...STATE, projects: { "/x": { mcpServers: { e: {} } } } })],
  [".claude/settings.json", "{}"],
  [".claude/settings.json", "no JSON"],
  [".claude/settings.local.json", '{"disableAllHooks":true}'],
  [".cursor/hooks.json", '{"hooks":{}}'],
  [".gate/tokens/agent", "mine"],
  [".gate/config.json", '{"policies":{"defaultEffect":"allow"}}'],
];
test.each(ATTACKS)("%s: %s is undone", async (path, text) => {
  const { paths } = await guardHome((user) => writeFileSync(join(user, path), text));
  expect(paths).toEqual([path]);
});

describe("what cannot be recorded is not forgotten", () => {
  /** A file changes under two running actions; the ledger of the first one refuses once. */
  async function changeUnder(reports: { refuse: boolean }) {
    const user = createTempFolder("guard-report");
    const home = join(user, ".gate");
    mkdirSync(join(home, "tokens"), { recursive: true });
    writeFileSync(join(home, "tokens/agent"), "secret");
    const guarding = new Guarding(createTestEnvironment(home).environment, user);
    const told: [action: string, path: string, shared_with: string[]][] = [];
    for (const action_id of ["a", "b"]) {
      await guarding.open({
        action_id,
        root: user,
        cwd: user,
        scripts: [],
        permits: { paths: new Set(), commands: [] },
        report: (restored, shared_with) => {
          if (action_id === "a" && reports.refuse) return Promise.reject(new Error("disk full"));
          for (const { path } of restored) told.push([action_id, path, shared_with]);
          return Promise.resolve();
        },
      }, []);
    }
    const file = join(home, "tokens/agent");
    writeFileSync(file, "mine");
    return { guarding, told, file };
  }

  test("a report that fails is made again, and the others are made", async () => {
    const reports = { refuse: true };
    const { guarding, told, file } = await changeUnder(reports);
    await guarding.look();
    expect(told).toEqual([["b", file, ["a"]]]);
    expect(readFileSync(file, "utf8")).toBe("secret");
    reports.refuse = false;
    await guarding.look();
    expect(told).toEqual([["b", file, ["a"]], ["a", file, ["b"]]]);
    await guarding.look();
    expect(told).toHaveLength(2);
  });

  test("an action does not end before it is recorded", async () => {
    const reports = { refuse: true };
    const { guarding, told, file } = await changeUnder(reports);
    await expect(guarding.close("a")).rejects.toThrow(/cannot record them; report/);
    expect(guarding.watches("a")).toBe(true);
    reports.refuse = false;
    expect(await guarding.close("a")).toMatchObject([{ path: file, restored: true }]);
    expect(told).toEqual([["b", file, ["a"]], ["a", file, ["b"]]]);
    expect(guarding.watches("a")).toBe(false);
  });

  test("of two ends of one action at once one counts", async () => {
    const { guarding, file } = await changeUnder({ refuse: false });
    const ends = await Promise.all([guarding.close("a"), guarding.close("a")]);
    expect(ends.map((restored) => restored.map(({ path }) => path))).toEqual([[file], [file]]);
    expect(guarding.watches("b")).toBe(true);
    writeFileSync(file, "again");
    expect(await guarding.close("b")).toHaveLength(2);
    expect(guarding.isWatching).toBe(false);
  });

  test("a file that a command creates while gate is stopped is undone in an empty home", async () => {
    const user = createTempFolder("guard-empty");
    mkdirSync(join(user, ".gate"));
    mkdirSync(join(user, ".cursor"));
    const guard = () => new Guarding(createTestEnvironment(join(user, ".gate")).environment, user);
    const told: string[] = [];
    const watched = {
      action_id: "a",
      root: user,
      cwd: user,
      scripts: [],
      permits: { paths: new Set<string>(), commands: [] },
      report: (restored: Restored[]) => {
        told.push(...restored.map(({ path }) => path));
        return Promise.resolve();
      },
    };
    const { baseline } = await guard().open(watched, []);
    const file = join(user, ".cursor/mcp.json");
    writeFileSync(file, "{}");
    const restarted = guard();
    const { lost } = await restarted.open(watched, [], { before: baseline });
    expect(lost).toEqual([]);
    await restarted.look();
    expect(told).toEqual([file]);
    expect(existsSync(file)).toBe(false);
  });

  test("a state that could not be written is written before the next command", async () => {
    const user = createTempFolder("guard-state");
    const home = join(user, ".gate");
    mkdirSync(home);
    writeFileSync(join(home, "guarding"), "in the way of the folder");
    const guarding = new Guarding(createTestEnvironment(home).environment, user);
    const open = async (action_id: string) => {
      const { baseline } = await guarding.open({
        action_id,
        root: user,
        cwd: user,
        scripts: [],
        permits: { paths: new Set(), commands: [] },
        report: () => Promise.resolve(),
      }, []);
      await guarding.close(action_id);
      return Object.keys(baseline);
    };
    await open("a");
    rmSync(join(home, "guarding"));
    const names = await open("b");
    expect(readdirSync(join(home, "guarding")).toSorted()).toEqual(
      names.map((name) => `${name}.json`).toSorted(),
    );
  });
});
