import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Agent, connect, POLICIES } from "./mcp_agent.ts";
import { must, until, World } from "./world.ts";

let world: World;
let agent: Agent;

beforeEach(async () => {
  world = await World.create("executable");
  await world.init(POLICIES);
  mkdirSync(join(world.project, ".husky"), { recursive: true });
  writeFileSync(join(world.project, ".husky/pre-push"), "true\n");
  agent = await connect(world);
});

afterEach(async () => {
  await agent?.close().catch(() => {});
  await world?.close();
});

const ATTACK = "echo '{}' > gate.config.json; echo evil > .husky/pre-push; " +
  "echo evil > .husky/pre-commit\n";

/** A script whose text is hidden in a file that the command line only names. */
function plant(text: string): void {
  writeFileSync(join(world.project, "work.sh"), text);
}

test(
  "an agent's answer, the card in the terminal and the next call say what was undone",
  async () => {
    plant(ATTACK);
    const policy = readFileSync(join(world.project, "gate.config.json"), "utf8");
    const { body } = await agent.call("run_command", { command: "sh work.sh" });
    expect(body.message).toContain("changed guarded files without permission");
    expect(readFileSync(join(world.project, "gate.config.json"), "utf8")).toBe(policy);
    expect(readFileSync(join(world.project, ".husky/pre-push"), "utf8")).toBe("true\n");
    expect(existsSync(join(world.project, ".husky/pre-commit"))).toBe(false);

    const shown = must(await world.run(["show", String(body.action_id)])).stdout;
    expect(shown).toMatch(/undone {2,}[^]*gate\.config\.json was modified without permission/);
    expect(shown).toMatch(/fixed {2,}work\.sh/);
    expect(shown).toMatch(/programs {2,}\/\S*\/sh\n/);
    expect(shown).toMatch(/not fixed {2,}every file that these programs or the scripts load/);

    const next = await agent.call("write_file", { path: "a.txt", content: "x" });
    expect(next.body).toMatchObject({ status: "blocked", rule: { source: "auto-block" } });
    const blocks = JSON.parse(must(await world.run(["session", "blocks", "--json"])).stdout);
    expect(blocks).toHaveLength(1);
    must(await world.run(["session", "unblock", blocks[0].session_id, "--reason", "seen"]));
    const after = await agent.call("write_file", { path: "a.txt", content: "x" });
    expect(after.body.status).toBe("approved");
    expect(JSON.parse(must(await world.run(["audit", "verify", "--json"])).stdout))
      .toMatchObject([{ ok: true }]);
  },
  60_000,
);

test(
  "what hosts and git load from the user's home is put back; the hosts' own data is not",
  async () => {
    const home = (path: string) => join(world.home, path);
    const files = {
      ".claude/skills/deploy/SKILL.md": "skill\n",
      ".gitconfig": "[user]\n\tname = P\n",
    };
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(home(path)), { recursive: true });
      writeFileSync(home(path), text);
    }
    plant(
      "mkdir -p ~/.claude/projects ~/.gemini/extensions/x; echo a > ~/.claude/projects/a.jsonl\n",
    );
    const quiet = await agent.call("run_command", { command: "sh work.sh" });
    expect(quiet.body.exit_code).toBe(0);
    expect(quiet.body.message).not.toContain("without permission");
    plant(
      "echo evil > ~/.claude/skills/deploy/SKILL.md; echo '{}' > ~/.gemini/extensions/x/a.json\n" +
        "git config --global core.hooksPath /tmp/evil || echo '[core]' >> ~/.gitconfig\n",
    );
    const { body } = await agent.call("run_command", { command: "sh work.sh" });
    expect(body.message).toContain("changed guarded files without permission");
    for (const [path, text] of Object.entries(files)) {
      expect(readFileSync(home(path), "utf8")).toBe(text);
    }
    expect(existsSync(home(".gemini/extensions/x/a.json"))).toBe(false);
    expect(existsSync(home(".claude/projects/a.jsonl"))).toBe(true);
    const next = await agent.call("write_file", { path: "a.txt", content: "x" });
    expect(next.body).toMatchObject({ status: "blocked", rule: { source: "auto-block" } });
  },
  60_000,
);

test(
  "gate mcp is killed in the middle of a command: the next contact finishes the comparison",
  async () => {
    plant(`${ATTACK}touch done\nsleep 60\n`);
    const running = agent.call("run_command", { command: "sh work.sh" }).catch(() => null);
    await until("the script did its work", () => existsSync(join(world.project, "done")));
    await agent.kill();
    await running;
    expect(existsSync(join(world.project, ".husky/pre-commit"))).toBe(true);
    agent = await connect(world);
    await agent.call("project_info", {});
    expect(existsSync(join(world.project, ".husky/pre-commit"))).toBe(false);
    expect(readFileSync(join(world.project, ".husky/pre-push"), "utf8")).toBe("true\n");
    const { body } = await world.api("GET", "/api/audit/export?format=json");
    const told = body.events.filter(({ type }: { type: string }) => type === "guard.restored");
    expect(told).toHaveLength(1);
  },
  60_000,
);

test(
  "the daemon is killed in the middle of a command: its next start finishes the comparison",
  async () => {
    plant(`${ATTACK}touch done\nsleep 60\n`);
    const running = agent.call("run_command", { command: "sh work.sh" }).catch(() => null);
    await until("the script did its work", () => existsSync(join(world.project, "done")));
    await world.kill(await world.daemonPid());
    must(await world.run(["daemon", "start"]));
    expect(readFileSync(join(world.project, ".husky/pre-push"), "utf8")).toBe("true\n");
    expect(existsSync(join(world.project, ".husky/pre-commit"))).toBe(false);
    await agent.kill();
    await running;
  },
  60_000,
);
