import { spawn } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findEngine } from "../../server/sandbox/engine.ts";
import { must, until, type World } from "../e2e/world.ts";
import { createHostWorld } from "./host_world.ts";
import { OTHER_HOSTS } from "./other_hosts.ts";
import { startOtherModel } from "./other_models.ts";
import { type ScriptedCall, type ScriptedModel, startModel } from "./scripted_model.ts";

const ENGINE = await findEngine({ confine: null });
if (ENGINE === null) {
  console.error("NOT RUN: no sandbox engine here, so no host's command ran in a sandbox");
}

interface Subject {
  id: string;
  folder: string;
  run: (command: string) => ScriptedCall;
  start: (world: World, calls: ScriptedCall[]) => Promise<ScriptedModel>;
  program: string;
  args: string[];
  env: (world: World, model: ScriptedModel) => Record<string, string>;
}

const CLAUDE: Subject = {
  id: "claude-code",
  folder: ".claude",
  run: (command) => ({ name: "Bash", input: { command, description: "x" } }),
  start: (_, calls) => startModel(calls),
  program: "claude",
  args: ["-p", "Do it.", "--permission-mode", "bypassPermissions"],
  env: (_, { url }) => ({
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: "none",
    ENABLE_TOOL_SEARCH: "false",
    IS_SANDBOX: "1",
  }),
};

const SUBJECTS: Subject[] = [
  CLAUDE,
  ...OTHER_HOSTS.map((host) => ({
    ...host,
    start: (_: World, calls: ScriptedCall[]) => startOtherModel(host.protocol, calls),
    env: host.prepare,
  })),
];
/** Qwen Code ignores another input. */
const REWRITTEN = SUBJECTS.filter(({ id }) => id !== "qwen-code");
const OTHERS = SUBJECTS.filter(({ id }) => id === "qwen-code");

async function open({ id, folder }: Subject): Promise<World> {
  const world = await createHostWorld();
  mkdirSync(join(world.home, folder));
  await world.init({
    defaultEffect: "ask",
    allowedPaths: ["src/**"],
    blockedPaths: [{ pattern: "secret.txt", reason: "secrets stay with people" }],
    allowedCommands: ["echo"],
    sandbox: { mode: "auto" },
  });
  world.write("secret.txt", "S3CRET\n");
  world.write("work.sh", "cat secret.txt\necho told >&2\necho made > made.txt\nexit 3\n");
  must(await world.run(["global-setup", "--enforce", "--host", id]));
  return world;
}

/** Runs one session and returns the results of its calls. */
async function session(
  world: World,
  { start, env, program, args }: Subject,
  calls: ScriptedCall[],
  during?: () => Promise<unknown>,
): Promise<string[]> {
  const model = await start(world, calls);
  const child = spawn(program, args, {
    cwd: world.project,
    env: { ...world.env, ...env(world, model) },
    stdio: ["ignore", "ignore", "ignore"],
  });
  const ended = new Promise((resolve) => child.on("close", resolve));
  await during?.();
  expect(await ended).toBe(0);
  model.close();
  return model.results;
}

const actionsOf = async (world: World) => (await world.api("GET", "/api/actions")).body.items;

describe.each(REWRITTEN)("the shell of $id in the sandbox", (subject) => {
  let world: World;
  beforeAll(async () => {
    if (ENGINE) world = await open(subject);
  });
  afterAll(() => world?.close());

  test.skipIf(ENGINE === null)(
    "runs a script behind the walls without a question, and the record says so",
    async () => {
      const { run } = subject;
      const [first, script] = await session(world, subject, [
        run("echo first"),
        run("bash work.sh"),
      ]);
      expect(first).toContain("first");
      expect(script).toContain("told");
      expect(script).toContain("ran in gate's sandbox");
      expect(script).not.toContain("S3CRET");
      expect(existsSync(join(world.project, "made.txt"))).toBe(true);
      const [walled, plain] = await actionsOf(world);
      expect(plain).toMatchObject({ command: "echo first", decision: { sandbox: null } });
      expect(walled).toMatchObject({
        ...{ agent: subject.id, command: "bash work.sh", status: "approved" },
        ...{ execution: "failed", exit_code: 3, decided_by: "policy" },
        decision: { sandbox: { engine: "bubblewrap" } },
      });
      const detail = (await world.api("GET", `/api/actions/${walled.id}`)).body;
      expect(detail.output.text).toContain("told");
    },
  );
});

describe.each(OTHERS)("the shell of $id", (subject) => {
  let world: World;
  beforeAll(async () => {
    world = await open(subject);
  });
  afterAll(() => world.close());

  test("has no sandbox, so a person is asked, and the record says that it ran outside", async () => {
    const { run } = subject;
    const calls = [run("echo first"), run("bash work.sh")];
    const [first, script] = await session(world, subject, calls, async () => {
      const held = await until("the call is held", async () => {
        const { body } = await world.api("GET", "/api/actions?status=pending");
        return body.items?.[0];
      }, 120_000);
      expect(held.decision.sandbox).toBe(null);
      must(await world.run(["reject", held.id, "--reason", "no"]));
    });
    expect(first).toContain("first");
    expect(script).toContain("Rejected by a person");
    expect(existsSync(join(world.project, "made.txt"))).toBe(false);
  });
});
