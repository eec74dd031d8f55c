import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Agent } from "./agent.ts";
import { must, until, World } from "./world.ts";

const ROUNDS = 12;
const SETTLED = ["succeeded", "failed", "unknown"];

describe("a daemon killed shortly after an approval, on the executable", () => {
  let world: World;
  let agent: Agent;

  beforeAll(async () => {
    world = await World.create("executable");
    await world.init();
    agent = await Agent.connect(world);
  });

  afterAll(async () => {
    await agent?.close();
    await world?.close();
  });

  // deno-lint-ignore no-explicit-any
  async function held(count: number): Promise<any[]> {
    return await until(`${count} actions are held`, async () => {
      const { body } = await world.api("GET", "/api/global/approvals/pending");
      return body.items.length === count ? body.items : null;
    });
  }

  // Each round kills 4 ms later, so that the kills cover the whole time of an approval.
  async function killAfter(ms: number): Promise<void> {
    const pid = await world.daemonPid();
    await new Promise((resolve) => setTimeout(resolve, ms));
    await world.kill(pid);
  }

  async function settled(id: string) {
    return await until(`${id} is settled`, async () => {
      // A connection kept from before the kill fails once.
      const answer = await world.api("GET", `/api/actions/${id}`).catch(() => null);
      const isSettled = answer?.body.status === "pending" ||
        SETTLED.includes(answer?.body.execution);
      return isSettled ? answer!.body : null;
    });
  }

  test.each(Array.from({ length: ROUNDS }, (_, round) => round))(
    "round %i: no action is half done, lost or executed twice",
    async (round) => {
      const file = `docs/write-${round}.txt`;
      const marks = `docs/count-${round}.txt`;
      const text = `${round}\n`.repeat(5000);
      const calls = [
        agent.call("write_file", { path: file, content: text }).catch(() => null),
        agent.call("run_command", { command: `echo ran >> ${marks}` }).catch(() => null),
      ];
      const actions = await held(2);
      const killed = killAfter(round * 4);
      const verdicts = actions.map(({ id }) =>
        world.api("POST", `/api/actions/${id}/approve`).catch(() => null)
      );
      await killed;
      const acknowledged = await Promise.all(verdicts);
      must(await world.run(["daemon", "start"]));
      await Promise.all(calls);

      for (const [at, { id, tool }] of actions.entries()) {
        let action = await settled(id);
        if (acknowledged[at]?.status === 200) expect(action.status).not.toBe("pending");
        if (action.status === "pending") {
          must(await world.run(["approve", id]));
          if (tool === "run_command") await agent.call("await_action", { action_id: id });
          action = await settled(id);
        }
        if (tool === "write_file") checkWrite(action, file, text);
        else checkCommand(action, marks);
      }
      must(await world.run(["audit", "verify"]));
    },
    60_000,
  );

  test("no temporary file remains", () => {
    const names = readdirSync(join(world.project, "docs"));
    expect(names.filter((name) => !/^(write|count)-\d+\.txt$/.test(name))).toEqual([]);
  });

  function checkWrite({ execution }: { execution: string }, file: string, text: string): void {
    const path = join(world.project, file);
    const now = existsSync(path) ? readFileSync(path, "utf8") : null;
    expect({ execution, now }).toEqual(
      execution === "succeeded" ? { execution, now: text } : { execution: "failed", now: null },
    );
  }

  function checkCommand({ execution }: { execution: string }, marks: string): void {
    const path = join(world.project, marks);
    const runs = existsSync(path) ? readFileSync(path, "utf8").split("\n").length - 1 : 0;
    expect(runs).toBeLessThanOrEqual(1);
    if (execution === "succeeded") expect(runs).toBe(1);
  }
});
