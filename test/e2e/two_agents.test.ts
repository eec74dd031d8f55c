import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Agent, heldAction } from "./agent.ts";
import { must, type Subject, World } from "./world.ts";

const SUBJECT = (process.env["GATE_TEST_SUBJECT"] ?? "executable") as Subject;
const POLICIES = { defaultEffect: "ask", allowedPaths: ["src/**"] };

describe.sequential(`commands and writes of two agents, on ${SUBJECT}`, () => {
  let world: World;
  let codex: Agent;
  let claude: Agent;
  const read = (path: string) => readFileSync(join(world.project, path), "utf8");

  beforeAll(async () => {
    world = await World.create(SUBJECT);
    await world.init(POLICIES);
    codex = await Agent.connect(world);
    claude = await Agent.connect(world);
  });

  afterAll(async () => {
    await codex?.close();
    await claude?.close();
    await world?.close();
  });

  test("a rollback restores a folder that a command deleted", async () => {
    world.write("docs/a.txt", "a\n", 0o600);
    world.write("docs/deep/run.sh", "#!/bin/sh\n", 0o755);
    const call = codex.call("run_command", { command: "rm -rf docs" });
    const held = await heldAction(world);
    const shown = must(await world.run(["show", held.id])).stdout;
    expect(shown).toMatch(/reversible +yes: gate keeps the current content of 2 files/);
    must(await world.run(["approve", held.id]));
    expect((await call).data).toMatchObject({ status: "approved", exit_code: 0 });
    expect(existsSync(join(world.project, "docs"))).toBe(false);
    expect(must(await world.run(["show", held.id])).stdout).toMatch(
      /── changed ─+\n│ - docs\/a.txt/,
    );
    must(await world.run(["rollback", held.id]));
    expect([read("docs/a.txt"), read("docs/deep/run.sh")]).toEqual(["a\n", "#!/bin/sh\n"]);
  });

  test("the reviewer sees that two sessions hold changes of one file", async () => {
    const write = (agent: Agent, content: string) =>
      agent.call("write_file", { path: "docs/both.txt", content, wait_ms: 0 });
    const [first, second] = [await write(codex, "by codex\n"), await write(claude, "by claude\n")];
    expect(second.data).toMatchObject({
      status: "pending",
      message: expect.stringContaining("holds a change of it too"),
    });
    expect(must(await world.run(["pending"])).stdout.match(/! also/g)).toHaveLength(2);
    const { stdout } = must(await world.run(["show", first.data.action_id]));
    expect(stdout).toContain("another session also has a held change of this file");
    expect(stdout).toContain("+by claude");
    for (const { data } of [first, second]) {
      must(await world.run(["reject", data.action_id, "--reason", "enough"]));
    }
  });

  test("both agents learn when one overwrites the other's file", async () => {
    const first = await codex.call("write_file", { path: "src/x.txt", content: "codex\n" });
    const second = await claude.call("write_file", { path: "src/x.txt", content: "claude\n" });
    expect(second.data).toMatchObject({
      execution: "succeeded",
      message: expect.stringContaining("wrote the content that this replaces"),
      conflicts: [{ kind: "overwrites", action_id: first.data.action_id, path: "src/x.txt" }],
    });
    const { action_id } = first.data;
    expect((await codex.call("get_action", { action_id })).data).toMatchObject({
      message: expect.stringContaining("has replaced the content of this action"),
      conflicts: [{ kind: "overwritten_by", action_id: second.data.action_id }],
    });
  });
});
