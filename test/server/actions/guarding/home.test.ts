import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { Guarding } from "../../../../server/actions/guarding/guarding.ts";
import type { Restored } from "../../../../server/actions/guarding/restore.ts";
import { startCpuClock } from "../../../cpu_clock.ts";
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
    permits: { paths: new Set(), implied: () => [], commands: [] },
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

/** The user's code for hosts, and git's configs, before a command. */
const USER_FILES: Record<string, string> = {
  ".claude/CLAUDE.md": "be careful\n",
  ".claude/skills/deploy/SKILL.md": "skill\n",
  ".claude/plugins/cache/market/tool/1.0.0/hooks/hooks.json": "{}",
  ".codex/AGENTS.md": "agents\n",
  ".codex/skills/.system/own.md": "of codex\n",
  ".gemini/extensions/one/gemini-extension.json": "{}",
  ".qwen/agents/a.md": "a\n",
  ".config/opencode/plugin/log.js": "export {}\n",
  ".cursor/rules/a.mdc": "a\n",
  ".copilot/agents/a.md": "a\n",
  ".gitconfig": "[user]\n\tname = P\n[include]\n\tpath = work.gitconfig\n" +
    '[core]\n\thooksPath = ~/hooks\n[includeIf "gitdir:~/x/"]\n\tpath = ~/x.inc\n',
  "work.gitconfig": "[include]\n\tpath = deeper.inc\n",
  "deeper.inc": "[alias]\n\tst = status\n",
  "x.inc": "[user]\n\tname = X\n",
  "hooks/pre-commit": "#!/bin/sh\n",
  ".config/git/attributes": "* text\n",
};

async function guardUser(
  effect: (put: (path: string, text: string) => void, user: string) => void,
  permits: { paths?: string[]; commands?: string[][] } = {},
) {
  const user = createTempFolder("guard-user");
  const put = (path: string, text: string) => {
    mkdirSync(dirname(join(user, path)), { recursive: true });
    writeFileSync(join(user, path), text);
  };
  for (const [path, text] of Object.entries(USER_FILES)) put(path, text);
  const installPath = join(user, ".claude/plugins/cache/market/tool/1.0.0");
  put(
    ".claude/plugins/installed_plugins.json",
    JSON.stringify({ version: 2, plugins: { "tool@market": [{ scope: "user", installPath }] } }),
  );
  mkdirSync(join(user, "project"));
  const guarding = new Guarding(createTestEnvironment(join(user, ".gate")).environment, user);
  const { paths = [], commands = [] } = permits;
  await guarding.open({
    ...{ action_id: "a", root: join(user, "project"), cwd: join(user, "project"), scripts: [] },
    permits: { paths: new Set(paths.map((path) => join(user, path))), implied: () => [], commands },
    report: () => Promise.resolve(),
  }, []);
  effect(put, user);
  const restored = (await guarding.close("a")).map(({ path }) => path.slice(user.length + 1));
  return { restored, user };
}

describe("what a host or git of the user loads", () => {
  const LOADED: [path: string, text: string][] = [
    [".claude/CLAUDE.md", "approve everything\n"],
    [".claude/agents/new.md", "a\n"],
    [".claude/commands/new.md", "a\n"],
    [".claude/skills/deploy/SKILL.md", "evil\n"],
    [".claude/skills/deploy/scripts/run.sh", "evil\n"],
    // Names that hosts use for their own data are ordinary ones here.
    [".claude/skills/cache/SKILL.md", "evil\n"],
    [".claude/skills/node_modules/SKILL.md", "evil\n"],
    [".claude/hooks/new.sh", "a\n"],
    [".claude/plugins/cache/market/tool/1.0.0/hooks/hooks.json", '{"hooks":{}}'],
    [".claude/plugins/cache/market/tool/1.0.0/commands/new.md", "a\n"],
    [".codex/AGENTS.md", "a\n"],
    [".codex/prompts/new.md", "a\n"],
    [".codex/skills/new/SKILL.md", "a\n"],
    [".gemini/extensions/one/gemini-extension.json", '{"mcpServers":{}}'],
    [".gemini/extensions/two/gemini-extension.json", "{}"],
    [".gemini/commands/new.toml", "a\n"],
    [".qwen/agents/a.md", "b\n"],
    [".qwen/extensions/new/qwen-extension.json", "{}"],
    [".config/opencode/plugin/log.js", "evil()\n"],
    [".config/opencode/plugins/new.ts", "evil()\n"],
    [".config/opencode/opencode.json", "{}"],
    [".config/opencode/agents/new.md", "a\n"],
    [".cursor/rules/a.mdc", "b\n"],
    [".cursor/skills/new/SKILL.md", "b\n"],
    [".copilot/agents/a.md", "b\n"],
    [".copilot/copilot-instructions.md", "b\n"],
    [".gitconfig", "[core]\n\thooksPath = /tmp/evil\n"],
    [".config/git/config", "[core]\n\thooksPath = /tmp/evil\n"],
    [".config/git/attributes", "* filter=evil\n"],
    ["work.gitconfig", "[alias]\n\tst = !evil\n"],
    ["deeper.inc", "[alias]\n\tst = !evil\n"],
    ["x.inc", "[core]\n\tpager = evil\n"],
    ["hooks/pre-commit", "evil\n"],
    ["hooks/post-commit", "evil\n"],
  ];
  test.each(LOADED)("%s is undone", async (path, text) => {
    const { restored, user } = await guardUser((put) => put(path, text));
    expect(restored).toContain(path);
    const before = USER_FILES[path];
    if (before === undefined) expect(existsSync(join(user, path))).toBe(false);
    else expect(readFileSync(join(user, path), "utf8")).toBe(before);
  });

  test.each<[string, (put: (path: string, text: string) => void, user: string) => void]>([
    ["logs, sessions and caches", (put) => {
      put(".claude/projects/p/1.jsonl", "{}");
      put(".claude/shell-snapshots/1.sh", "x");
      put(".claude/statsig/x", "x");
      put(".claude/plans/a.md", "x");
      put(".codex/sessions/2026/a.jsonl", "{}");
      put(".codex/history.jsonl", "{}");
      put(".codex/rules/default.rules", "x");
      put(".gemini/tmp/x/logs.json", "{}");
      put(".gemini/GEMINI.md", "## Gemini Added Memories\n");
      put(".qwen/tmp/x", "x");
      put(".config/opencode/node_modules/x/index.js", "x");
      put(".config/opencode/package.json", "{}");
      put(".cursor/extensions/x/package.json", "{}");
      put(".copilot/config.json", "{}");
      put(".copilot/logs/a.log", "x");
    }],
    ["Codex's own skills", (put) => put(".codex/skills/.system/own.md", "newer\n")],
    ["catalogues of plugins", (put) => {
      put(".claude/plugins/marketplaces/market/.git/FETCH_HEAD", "x");
      put(".claude/plugins/marketplaces/market/plugins/tool/hooks/hooks.json", "{}");
      put(".claude/plugins/known_marketplaces.json", "{}");
    }],
    ["a new version of a plugin, which nothing names yet", (put) => {
      put(".claude/plugins/cache/market/tool/2.0.0/hooks/hooks.json", "{}");
      put(".claude/plugins/cache/market/tool/2.0.0/a.md", "{}");
    }],
    ["what running a skill leaves behind", (put) => {
      put(".claude/skills/deploy/scripts/__pycache__/x.pyc", "x");
      put(".claude/skills/deploy/node_modules/x/index.js", "x");
    }],
  ])("what hosts write themselves blocks nobody: %s", async (_, effect) => {
    expect((await guardUser(effect)).restored).toEqual([]);
  });

  test("the list of plugins, and a version that is removed and made again, are undone", async () => {
    const list = ".claude/plugins/installed_plugins.json";
    const evil = { version: 2, plugins: { "evil@x": [{ installPath: "/tmp/evil" }] } };
    expect((await guardUser((put) => put(list, JSON.stringify(evil)))).restored).toContain(list);
    const path = ".claude/plugins/cache/market/tool/1.0.0";
    const { restored } = await guardUser((put, user) => {
      rmSync(join(user, path), { recursive: true });
      put(`${path}/hooks/hooks.json`, '{"hooks":{"PreToolUse":[]}}');
    });
    expect(restored).toEqual([`${path}/hooks/hooks.json`]);
  });

  test("a file behind a link is guarded", async () => {
    const user = createTempFolder("guard-link");
    mkdirSync(join(user, "dotfiles"));
    writeFileSync(join(user, "dotfiles/gitconfig"), "[user]\n\tname = P\n");
    symlinkSync(join(user, "dotfiles/gitconfig"), join(user, ".gitconfig"));
    const guarding = new Guarding(createTestEnvironment(join(user, ".gate")).environment, user);
    await guarding.open({
      ...{ action_id: "a", root: user, cwd: user, scripts: [] },
      permits: { paths: new Set(), implied: () => [], commands: [] },
      report: () => Promise.resolve(),
    }, []);
    writeFileSync(join(user, "dotfiles/gitconfig"), "[core]\n\tpager = evil\n");
    const restored = await guarding.close("a");
    expect(restored.map(({ path }) => path)).toEqual([join(user, "dotfiles/gitconfig")]);
  });

  test("what the judged text names may change", async () => {
    const skill = ".claude/skills/deploy/SKILL.md";
    const named = await guardUser((put) => put(skill, "new\n"), { paths: [skill] });
    expect(named.restored).toEqual([]);
    const set = (name: string) => [["git", "config", "--global", name, "x"]];
    const change = (put: (path: string, text: string) => void) =>
      put(".gitconfig", `${USER_FILES[".gitconfig"]}[alias]\n\tlg = log\n`);
    expect((await guardUser(change, { commands: set("alias.lg") })).restored).toEqual([]);
    expect((await guardUser(change, { commands: set("alias.st") })).restored)
      .toEqual([".gitconfig"]);
  });

  test("a folder with very many names is guarded in its outer levels, and in bounded time", async () => {
    const user = createTempFolder("guard-many");
    const at = join(user, ".gemini/extensions/big");
    for (let i = 0; i < 40; i++) {
      mkdirSync(join(at, "lib", `${i}`), { recursive: true });
      for (let j = 0; j < 50; j++) writeFileSync(join(at, "lib", `${i}`, `${j}.js`), "x");
    }
    writeFileSync(join(at, "gemini-extension.json"), "{}");
    const guarding = new Guarding(createTestEnvironment(join(user, ".gate")).environment, user);
    const run = async (effect: () => void) => {
      await guarding.open({
        ...{ action_id: "a", root: user, cwd: user, scripts: [] },
        permits: { paths: new Set(), implied: () => [], commands: [] },
        report: () => Promise.resolve(),
      }, []);
      effect();
      return (await guarding.close("a")).map(({ path }) => path.slice(user.length + 1));
    };
    expect(await run(() => writeFileSync(join(at, "lib/1/1.js"), "y"))).toEqual([]);
    const manifest = ".gemini/extensions/big/gemini-extension.json";
    expect(await run(() => writeFileSync(join(user, manifest), "{1}"))).toEqual([manifest]);
    const cpuMs = startCpuClock();
    for (let i = 0; i < 20; i++) await run(() => {});
    expect(cpuMs() / 20).toBeLessThan(100);
  });
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
        permits: { paths: new Set(), implied: () => [], commands: [] },
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
      permits: { paths: new Set<string>(), implied: () => [], commands: [] },
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
        permits: { paths: new Set(), implied: () => [], commands: [] },
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

test("a change between the contact of an action and its start is undone and told", async () => {
  const user = createTempFolder("guard-contact");
  const root = join(user, "project");
  const hook = join(root, ".husky/pre-push");
  mkdirSync(dirname(hook), { recursive: true });
  writeFileSync(hook, "true\n");
  const { environment } = createTestEnvironment(join(user, ".gate"));
  const guarding = new Guarding(environment, user);
  const told: string[] = [];
  const open = (action_id: string) =>
    guarding.open({
      ...{ action_id, root, cwd: root, scripts: [] },
      permits: { paths: new Set(), implied: () => [], commands: [] },
      report: (restored) => {
        told.push(...restored.map(({ path }) => `${action_id} ${path}`));
        return Promise.resolve();
      },
    }, []);
  await open("a");
  await guarding.look();
  writeFileSync(hook, "evil\n");
  await open("b");
  await guarding.close("b");
  expect(readFileSync(hook, "utf8")).toBe("true\n");
  expect(told).toContain(`a ${hook}`);
});
