import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { VERSION } from "../../server/constants.ts";
import { EventListener } from "./event_listener.ts";
import { type Agent, connect, decide } from "./mcp_agent.ts";
import { OLDER_VERSION, olderGate } from "./older_gate.ts";
import { must, SUBJECTS, until, World } from "./world.ts";

const STREAMS = 20;
const HOLDS = 5;
const WRITES = 60;

describe("an upgrade of the running daemon, on the executable", () => {
  let world: World;

  beforeEach(async () => {
    world = await World.create("executable");
    world.use(olderGate(join(world.folder, "older")));
    await world.init();
  });

  afterEach(() => world.close());

  const status = async () => (await world.api("GET", "/api/daemon/status")).body;

  test(
    `loses nothing under ${STREAMS} event streams, ${HOLDS} held calls and a writer`,
    async () => {
      expect((await status()).version).toBe(OLDER_VERSION);
      await world.token("viewer");
      const listeners = await Promise.all(
        Array.from({ length: STREAMS }, () => EventListener.open(world)),
      );
      const agents = await Promise.all(Array.from({ length: HOLDS }, () => connect(world)));
      const held = agents.map((agent, at) =>
        agent.call("write_file", { path: `docs/${at}.txt`, content: `held ${at}` })
      );
      const pending = await heldActions(HOLDS);
      const writer = await connect(world);
      const written = writeAll(writer);

      await until("ten files are written", () => existsSync(join(world.project, "src/9.txt")));
      world.use(SUBJECTS.executable);
      const { stderr } = must(await world.run(["daemon", "start"]));
      expect(stderr).toContain(`Replacing the running daemon ${OLDER_VERSION} with ${VERSION}.`);
      expect((await status()).version).toBe(VERSION);

      for (const { id } of pending) await decide(world, id, "approve");
      for (const [at, answer] of (await Promise.all(held)).entries()) {
        expect(answer.body).toMatchObject({ status: "approved", execution: "succeeded" });
        expect(readFileSync(join(world.project, `docs/${at}.txt`), "utf8")).toBe(`held ${at}`);
      }
      await written;
      expect(readdirSync(join(world.project, "src"))).toHaveLength(WRITES);
      expect((await world.run(["audit", "verify"])).code).toBe(0);
      await checkListeners(listeners);
      expect((await status()).version).toBe(VERSION);
      await Promise.all([...agents, writer].map((agent) => agent.close()));
    },
    120_000,
  );

  test(
    "a newer gate mcp replaces an older daemon, and an older one keeps a newer daemon",
    async () => {
      const older = await connect(world);
      expect((await older.call("project_info")).body.project).toBe("demo");
      world.use(SUBJECTS.executable);
      const newer = await connect(world);
      expect((await newer.call("project_info")).body.project).toBe("demo");
      const { pid, version } = await status();
      expect(version).toBe(VERSION);
      expect((await older.call("project_info")).body.project).toBe("demo");
      expect(await status()).toMatchObject({ pid, version });
      await Promise.all([older.close(), newer.close()]);
    },
    120_000,
  );

  async function writeAll(agent: Agent): Promise<void> {
    for (let at = 0; at < WRITES; at++) {
      const { body } = await agent.call("write_file", { path: `src/${at}.txt`, content: `${at}` });
      expect(body, `write ${at}`).toMatchObject({ status: "approved", execution: "succeeded" });
    }
  }

  // deno-lint-ignore no-explicit-any
  async function heldActions(count: number): Promise<any[]> {
    return await until(`${count} actions are held`, async () => {
      const { body } = await world.api("GET", "/api/global/approvals/pending");
      return body.items.length === count ? body.items : null;
    });
  }

  async function checkListeners(listeners: EventListener[]): Promise<void> {
    const { events } = (await world.api("GET", "/api/audit/export?format=json")).body;
    const all = events
      .filter(({ type }: { type: string }) => type.startsWith("action."))
      .map(({ project_id, seq }: { project_id: string; seq: number }) => `${project_id}:${seq}`);
    expect(all.length).toBeGreaterThan(WRITES * 2);
    for (const listener of listeners) {
      await until(
        "the listener received every event",
        () => all.every((id: string) => listener.heard.has(id)),
      );
      expect(listener.cuts).toBeGreaterThan(0);
      await listener.close();
    }
  }
});
