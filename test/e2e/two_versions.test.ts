import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { VERSION } from "../../server/constants.ts";
import { ServerDatabase } from "../../server/db/server_database.ts";
import { type SqlServer, startSqlServer } from "../server/db/sqld.ts";
import { createTempFolder } from "../temp_folder.ts";
import { NEWER_VERSION, newerGate } from "./older_gate.ts";
import { must, until, World } from "./world.ts";

/** A version of the schema that this release can go on with, and one that it cannot. */
const sql = "ALTER TABLE actions ADD COLUMN later TEXT DEFAULT 'x'";
const ADDS = { is_additive: true, sql };
const REPLACES = { is_additive: false, sql };

const POLICIES = { defaultEffect: "allow", askPaths: ["held/**"] };

/** A machine with the executable of this release, whose config names the server. */
async function machine(server: SqlServer): Promise<World> {
  const world = await World.create("executable");
  onTestFinished(() => world.close());
  const config = { approvals: { proof: "token" }, storage: { url: server.url } };
  writeFileSync(join(world.gateHome, "config.json"), JSON.stringify(config));
  return world;
}

/** Two machines: the older release has moved its ledger to the server, the newer one is to join it. */
async function stage(schema: { is_additive: boolean; sql: string }) {
  const server = await startSqlServer(createTempFolder("sqld"));
  const [older, newer] = [await machine(server), await machine(server)];
  const command = newerGate(join(newer.folder, "newer"), schema);
  newer.use(command);
  await older.init(POLICIES);
  must(await older.run(["hub", "join"]));
  await newer.init(POLICIES);
  return { server, older, newer, command };
}

async function submit(world: World, path: string, project = "demo") {
  const input = { path, content: path };
  return await world.api("POST", `/api/actions?project=${project}`, {
    tool: "write_file",
    input,
  }, "agent");
}

const executed = (world: World, path: string) =>
  until(`${path} is written`, () => existsSync(join(world.project, path)));

async function verifies(world: World) {
  expect(must(await world.run(["audit", "verify"])).stdout).toContain("✓ demo");
}

/** The number of times that an action was started. */
async function starts(world: World, id: string): Promise<number> {
  const { events } = (await world.api("GET", "/api/audit/export?format=json&project=demo")).body;
  return events.filter((event: { type: string; action_id: string }) =>
    event.type === "action.started" && event.action_id === id
  ).length;
}

test(
  "an older and a newer release share one ledger while the newer one only adds to its schema",
  async () => {
    const { older, newer } = await stage(ADDS);
    const joined = must(await newer.run(["hub", "join", "--shared"]));
    expect(joined.stdout).toContain("shared with");
    for (const [own, other] of [[older, newer], [newer, older]] as const) {
      const name = own === older ? "older" : "newer";
      expect((await submit(own, `${name}.txt`)).body).toMatchObject({ execution: "succeeded" });
      const { body: held } = await submit(own, `held/${name}.txt`);
      expect(held).toMatchObject({ status: "pending" });
      await until(
        "the other machine shows it",
        async () => (await other.run(["pending"])).stdout.includes(held.id),
      );
      must(await other.run(["approve", held.id]));
      await executed(own, `held/${name}.txt`);
      expect(existsSync(join(other.project, `held/${name}.txt`))).toBe(false);
      await until(
        "its end is recorded",
        async () =>
          (await other.api("GET", `/api/actions/${held.id}`)).body.execution === "succeeded",
      );
      expect(await starts(other, held.id)).toBe(1);
      // Only its own machine has the file, so the other one passes the rollback on.
      must(await other.run(["rollback", held.id]));
      expect(existsSync(join(own.project, `held/${name}.txt`))).toBe(false);
    }
    for (const world of [older, newer]) {
      const { stdout } = must(await world.run(["hub", "status"]));
      expect(stdout).toContain(`gate ${VERSION}`);
      expect(stdout).toContain(`gate ${NEWER_VERSION}`);
      await verifies(world);
    }
    // The older one opens what the newer one has changed, and takes its leave.
    must(await older.run(["daemon", "restart"]));
    expect((await submit(older, "again.txt")).body).toMatchObject({ execution: "succeeded" });
    must(await older.run(["hub", "leave"]));
    expect((await submit(newer, "alone.txt")).body).toMatchObject({ execution: "succeeded" });
    await verifies(newer);
  },
  240_000,
);

test(
  "an older release refuses new work once it cannot understand the ledger, and goes on after its update",
  async () => {
    const { server, older, newer, command } = await stage(REPLACES);
    const local = join(older.folder, "local");
    mkdirSync(local);
    writeFileSync(
      join(local, "gate.config.json"),
      JSON.stringify({ id: "local", policies: POLICIES }),
    );
    must(await older.run(["init", "--yes"], { cwd: local }));
    expect((await submit(older, "before.txt")).body).toMatchObject({ execution: "succeeded" });
    const { body: held } = await submit(older, "held/a.txt");

    const early = await newer.run(["hub", "join", "--shared"]);
    expect(early).toMatchObject({ code: 1 });
    expect(early.stderr).toContain(`(gate ${VERSION}); stop gate there and install this release`);
    expect((await submit(older, "during.txt")).body).toMatchObject({ execution: "succeeded" });

    await older.whileFrozen(async () => {
      await forgetSeen(server);
      must(await newer.run(["hub", "join", "--shared"]));
      expect((await submit(newer, "new.txt")).body).toMatchObject({ execution: "succeeded" });
    });
    const cause = `gate ${NEWER_VERSION} made it`;
    // It notices without any work of its own.
    await until(
      "the older release notices",
      async () => (await older.run(["hub", "status"])).stdout.includes(cause),
    );
    for (const attempt of ["at once", "after a restart"]) {
      const refused = await submit(older, "after.txt");
      expect(refused, attempt).toMatchObject({ status: 503, body: { code: "unavailable" } });
      expect(refused.body.detail).toMatch(
        new RegExp(`${cause} .*; update gate on this machine to ${NEWER_VERSION} or newer`),
      );
      const read = await older.run(["log", "--project", "demo"]);
      expect([read.code, read.stderr]).toEqual([1, expect.stringContaining("update gate")]);
      expect((await submit(older, `${attempt}.txt`, "local")).body).toMatchObject({
        execution: "succeeded",
      });
      if (attempt === "at once") must(await older.run(["daemon", "restart"]));
    }
    expect(existsSync(join(older.project, "after.txt"))).toBe(false);

    must(await newer.run(["approve", held.id]));
    older.use(command);
    must(await older.run(["daemon", "start"]));
    await executed(older, "held/a.txt");
    await until(
      "its end is recorded",
      async () =>
        (await newer.api("GET", `/api/actions/${held.id}`)).body.execution === "succeeded",
    );
    expect(await starts(newer, held.id)).toBe(1);
    expect((await submit(older, "after.txt")).body).toMatchObject({ execution: "succeeded" });
    for (const world of [older, newer]) await verifies(world);
    expect(readFileSync(join(older.project, "before.txt"), "utf8")).toBe("before.txt");
  },
  240_000,
);

/** The server has not seen any machine for long. */
async function forgetSeen({ url }: SqlServer): Promise<void> {
  const database = await ServerDatabase.open({ url, token: null });
  await database.batch([{ sql: "UPDATE machines SET seen_at = 0", args: [] }]);
  await database.close();
}
