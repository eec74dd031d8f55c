import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
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
