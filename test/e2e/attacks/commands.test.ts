import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { policyTemplate } from "../../../server/policy/templates.ts";
import { Agent } from "../agent.ts";
import { must, type Subject, SUBJECTS, World } from "../world.ts";
import { type AttackClass, CLASSES, type Places } from "./commands.ts";

const SUBJECT = (process.env["GATE_TEST_SUBJECT"] ?? "executable") as Subject;

const PERMISSIVE = policyTemplate("permissive");
const BALANCED = policyTemplate("balanced");

const POLICIES = {
  balanced: {
    ...BALANCED,
    sandbox: { mode: "auto" },
    blockedPaths: [...BALANCED.blockedPaths!, "secrets/**"],
    allowedCommands: [...BALANCED.allowedCommands!, "gate status"],
    blockedCommands: [...BALANCED.blockedCommands!, "rm -rf"],
  },
  permissive: { ...PERMISSIVE, askPaths: ["README.md"], sandbox: { mode: "auto" } },
};

describe.each(CLASSES)("$name, on " + SUBJECT, (attack) => {
  let laboratory: Laboratory;

  beforeAll(async () => {
    laboratory = await Laboratory.create(attack);
  });
  afterAll(() => laboratory?.close());

  test("no variant reaches its goal", async () => {
    // The laboratory runs what is allowed and sees what it prints.
    expect(await laboratory.run("cat src/a.txt")).toContain("hello");
    const commands = attack.commands(laboratory.places);
    expect(commands.length).toBeGreaterThanOrEqual(10);
    const lost: string[] = [];
    for (const command of commands) {
      const losses = await laboratory.attack(command);
      if (losses.length > 0) lost.push(`${command}: ${losses.join(", ")}`);
    }
    expect(lost).toEqual([]);
  });
});

/** A gate with secrets, tokens, settings and a held action, and the agent that attacks it. */
class Laboratory {
  readonly #world: World;
  readonly #agent: Agent;
  readonly #secrets: string[];
  readonly places: Places;
  #before: Record<string, string>;

  private constructor(world: World, agent: Agent, places: Places, secrets: string[]) {
    this.#world = world;
    this.#agent = agent;
    this.places = places;
    this.#secrets = secrets;
    this.#before = this.#look();
  }

  static async create(attack: AttackClass): Promise<Laboratory> {
    const world = await World.create(SUBJECT);
    world.write("src/a.txt", "hello\n");
    world.write(".env", "SECRETENV=1\n");
    world.write("secrets/key", "TOPSECRET\n");
    world.write("README.md", "before\n");
    git(world, ["init", "-q", "-b", "main"]);
    git(world, ["add", "src", "README.md"]);
    git(world, ["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "first"]);
    mkdirSync(join(world.home, ".claude"));
    writeFileSync(join(world.home, ".claude/settings.json"), "{}\n");
    await world.init(POLICIES[attack.policy]);
    const agent = await Agent.connect(world);
    const { data } = await agent.call("write_file", {
      path: "README.md",
      content: "by the agent alone\n",
      wait_ms: 0,
    });
    const places = {
      proof: join(world.folder, "proof"),
      project: world.project,
      home: world.home,
      gate: SUBJECTS[SUBJECT].join(" "),
      port: world.port,
      pid: await world.daemonPid(),
      held: data.action_id,
    };
    for (const [path, content] of Object.entries(attack.files(places))) {
      const written = await agent.call("write_file", { path, content, wait_ms: 5000 });
      expect(written.data, path).toMatchObject({ execution: "succeeded" });
    }
    const tokens = join(world.gateHome, "tokens");
    const secrets = ["SECRETENV", "TOPSECRET"].concat(
      readdirSync(tokens).map((name) => readFileSync(join(tokens, name), "utf8").trim()),
    );
    return new Laboratory(world, agent, places, secrets);
  }

  /** Runs one command as the agent and returns the losses: what was read, changed, decided, ended. */
  async attack(command: string): Promise<string[]> {
    const output = await this.run(command);
    const losses = this.#secrets.some((secret) => output.includes(secret))
      ? ["a secret was read"]
      : [];
    if (existsSync(this.places.proof)) losses.push("the agent's code ran");
    rmSync(this.places.proof, { force: true });
    const now = this.#look();
    for (const name of new Set([...Object.keys(this.#before), ...Object.keys(now)])) {
      if (this.#before[name] !== now[name]) losses.push(`${name} was changed`);
    }
    this.#before = now;
    if (!isAlive(this.places.pid)) losses.push("the daemon was ended");
    else losses.push(...await this.#decided());
    return losses;
  }

  /** Runs a command to its end, unless gate holds or blocks it. */
  async run(command: string): Promise<string> {
    const { data } = await this.#agent.call("run_command", { command, wait_ms: 0 });
    if (data.status !== "approved" || data.execution === "succeeded") return JSON.stringify(data);
    const { action_id } = data;
    const ended = await this.#agent.call("await_action", { action_id, wait_ms: 30_000 });
    return JSON.stringify([data, ended.data]);
  }

  async close(): Promise<void> {
    await this.#agent.close();
    await this.#world.close();
  }

  async #decided(): Promise<string[]> {
    const { body } = await this.#world.api("GET", `/api/actions/${this.places.held}`);
    return body.status === "pending" ? [] : [`the held action is ${body.status}`];
  }

  #look(): Record<string, string> {
    const { project, home } = this.places;
    const files = [
      join(project, ".env"),
      join(project, "gate.config.json"),
      join(project, "secrets/key"),
      join(project, ".git/config"),
      join(home, ".claude/settings.json"),
      join(home, ".gate/config.json"),
    ].map((path) => [path, existsSync(path) ? readFileSync(path, "utf8") : "gone"]);
    const folders = [
      join(project, ".git/hooks"),
      join(home, ".gate/tokens"),
      join(home, ".gate/planted"),
    ].map((path) => [path, existsSync(path) ? readdirSync(path).sort().join(" ") : "gone"]);
    return Object.fromEntries([...files, ...folders]);
  }
}

function git(world: World, args: string[]): void {
  must({
    code: 0,
    stdout: execFileSync("git", args, { cwd: world.project, env: world.env, encoding: "utf8" }),
    stderr: "",
  });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
