import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { VERSION } from "../../server/constants.ts";
import { Daemon } from "../../server/daemon.ts";
import { Connection } from "../../server/db/connection.ts";
import { createTestEnvironment, createTestGate, testCaller, type TestGate } from "../helpers.ts";

const PERSON = { id: "reviewer", scope: "reviewer" } as const;

const agent = testCaller();

/** Registers another project beside the gate's own. */
async function addProject(gate: TestGate, id: string): Promise<string> {
  const root = join(gate.root, "..", id);
  mkdirSync(root);
  writeFileSync(join(root, "gate.config.json"), JSON.stringify({ id }));
  await gate.daemon.projects.register(root, PERSON);
  return root;
}

test("the status of a sound daemon", async () => {
  const gate = await createTestGate();
  gate.clock.advance(1500);
  const status = await gate.daemon.status();
  expect(status).toMatchObject({
    version: VERSION,
    port: 47999,
    started_at: "2026-01-01T00:00:00.000Z",
    uptime_seconds: 1.5,
    healthy: true,
    problems: [],
    projects: [{ id: "test", pending_count: 0, reachable: true }],
  });
  expect(status.pid).toBeGreaterThan(0);
});

test("a daemon that could not save its newest change is not healthy until it saves one", async () => {
  const gate = await createTestGate();
  const status = async () => await (await gate.request("GET", "/api/daemon/status")).json();
  const openSession = async () => (await gate.request("POST", "/api/sessions", {}, "agent")).status;
  expect(await openSession()).toBe(201);
  const { run } = Connection.prototype;
  const spy = vi.spyOn(Connection.prototype, "run").mockImplementation(
    function (this: Connection, statement) {
      if (statement.sql !== "COMMIT") return run.call(this, statement);
      throw Object.assign(new Error("full"), { code: "SQLITE_FULL" });
    },
  );
  onTestFinished(() => spy.mockRestore());
  expect(await openSession()).toBe(503);
  expect(await status()).toMatchObject({
    healthy: false,
    findings: [{
      message: expect.stringMatching(
        /^project "test": the newest change was not saved: Cannot use ".*": the disk is full; free/,
      ),
      fix: "free some space and try again",
    }],
  });
  spy.mockRestore();
  expect(await status()).toMatchObject({ healthy: false });
  expect(await openSession()).toBe(201);
  expect(await status()).toMatchObject({ healthy: true, problems: [] });
});

test("a second daemon on the same home is refused, and the first goes on", async () => {
  const gate = await createTestGate();
  await expect(Daemon.open(gate.environment, { port: 47998 })).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringMatching(/process \d+ owns it/),
  });
  await gate.project.sessions.open({}, agent);
  expect(await gate.audit()).toHaveLength(1);
});

test("20 calls at once open a ledger once", async () => {
  const gate = await createTestGate();
  await addProject(gate, "other");
  const opened = await Promise.all(
    Array.from({ length: 20 }, () => gate.daemon.projects.get("other")),
  );
  expect(new Set(opened).size).toBe(1);
});

test("without a name the only project is meant; of two the choice is listed", async () => {
  const gate = await createTestGate();
  expect((await gate.daemon.projects.only()).id).toBe("test");
  await addProject(gate, "other");
  await expect(gate.daemon.projects.only()).rejects.toMatchObject({
    code: "project_required",
    fields: { projects: [{ id: "other" }, { id: "test" }] },
  });
});

test("a home without projects says how to make one", async () => {
  const gate = await createTestGate();
  const { environment } = createTestEnvironment(join(gate.home, "..", "fresh"));
  const daemon = await Daemon.open(environment, { port: 1 });
  await expect(daemon.projects.only()).rejects.toMatchObject({
    code: "project_required",
    message: expect.stringContaining("gate init"),
  });
  await daemon.close();
});

test.each(["nope", "", "../test", "a\0b", "x".repeat(10_000)])(
  "an unknown project is not found: %j",
  async (id) => {
    const { daemon } = await createTestGate();
    await expect(daemon.projects.get(id)).rejects.toMatchObject({ code: "not_found" });
  },
);

test.each(["nope", "", "00000000-0000-7000-8000-000000000000", "%00"])(
  "an unknown action is not found: %j",
  async (id) => {
    const { daemon } = await createTestGate();
    await expect(daemon.projects.ofAction(id)).rejects.toMatchObject({ code: "not_found" });
  },
);

test("a damaged ledger is set aside and told; the project and the others go on", async () => {
  const gate = await createTestGate();
  await addProject(gate, "other");
  await gate.project.sessions.open({}, agent);
  await (await gate.daemon.projects.get("other")).sessions.open({}, agent);
  await gate.daemon.close();
  const path = join(gate.home, "projects", "test", "ledger.db");
  rmSync(`${path}-wal`, { force: true });
  rmSync(`${path}-shm`, { force: true });
  writeFileSync(path, "damage".repeat(1000));
  await gate.open();
  const status = await gate.daemon.status();
  expect(status.healthy).toBe(false);
  expect(status.problems).toEqual([expect.stringContaining(`${path}.corrupt-`)]);
  expect(status.findings).toMatchObject([
    { fix: expect.stringMatching(/^look at it, then mv \S+\.corrupt-\S+ somewhere else$/) },
  ]);
  expect(status.projects.map(({ unread }) => unread)).not.toContain(true);
  expect((await gate.project.audit.verify()).events).toBe(0);
  await gate.project.sessions.open({}, agent);
  expect(await gate.project.audit.verify()).toMatchObject({ ok: true, events: 1 });
  const other = await gate.daemon.projects.get("other");
  expect(await other.audit.verify()).toMatchObject({ ok: true, events: 1 });
});

test("a ledger of a newer release is a problem of that project alone, and stays as it is", async () => {
  const gate = await createTestGate();
  await addProject(gate, "other");
  await gate.project.ledger.commit({
    statements: [{
      sql:
        "INSERT INTO migrations (version, made_by, at) VALUES (999, '9.9.9', '2030-01-01T00:00:00.000Z')",
      args: [],
    }],
    events: [],
  });
  await gate.daemon.close();
  const { environment, clock } = gate;
  const daemon = await Daemon.open(environment, { port: 1 });
  clock.advance(1);
  await expect(daemon.projects.get("test")).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringMatching(/9\.9\.9.*schema 999/),
  });
  const { healthy, problems, projects } = await daemon.status();
  expect({ healthy, problems }).toEqual({
    healthy: false,
    problems: [expect.stringContaining("9.9.9")],
  });
  expect(projects.find(({ id }) => id === "test")).toMatchObject({
    reachable: false,
    unread: true,
  });
  expect(projects.find(({ id }) => id === "other")).toMatchObject({ unread: false });
  await (await daemon.projects.get("other")).sessions.open({}, agent);
  await daemon.close();
});

test("a damaged registry is set aside and made anew from the ledgers", async () => {
  const gate = await createTestGate({ policies: { defaultEffect: "ask" } });
  await addProject(gate, "unused");
  const input = { path: "a.txt", content: "x" };
  const { action } = await gate.project.actions.submit({ tool: "write_file", input }, agent);
  await gate.daemon.close();
  const path = join(gate.home, "gate.db");
  rmSync(`${path}-wal`, { force: true });
  rmSync(`${path}-shm`, { force: true });
  writeFileSync(path, "damage".repeat(1000));
  const daemon = await Daemon.open(gate.environment, { port: 1 });
  expect((await daemon.status()).problems).toEqual([
    expect.stringContaining(`${path}.corrupt-`),
    expect.stringContaining("nobody knows the accepted rules of"),
  ]);
  expect(await daemon.projects.list()).toMatchObject([
    { id: "test", name: "project", roots: [gate.root], pending_count: 1 },
  ]);
  expect((await daemon.listPending()).map(({ id }) => id)).toEqual([action.id]);
  await daemon.close();
});

test.each([
  ["damaged", (path: string) => writeFileSync(path, "damage".repeat(1000))],
  ["deleted", (path: string) => rmSync(path)],
])("a registry that is %s takes no workspace with it", async (_name, lose) => {
  const gate = await createTestGate();
  await gate.project.sessions.open({}, agent);
  const unused = await addProject(gate, "unused");
  const { workspaces } = gate.daemon;
  await workspaces.create({ id: "shop", name: "The shop" });
  await workspaces.create({ id: "gone", name: "Gone" });
  await workspaces.addProject("shop", unused, PERSON);
  await workspaces.addProject("shop", gate.root, PERSON);
  await workspaces.addProject("gone", gate.root, PERSON);
  await workspaces.remove("gone");
  const before = await workspaces.list();
  await gate.daemon.close();
  const path = join(gate.home, "gate.db");
  for (const suffix of ["-wal", "-shm"]) rmSync(path + suffix, { force: true });
  lose(path);
  const daemon = await Daemon.open(gate.environment, { port: 1 });
  // No ledger tells where an unused project is: it is back in its set with its folder.
  expect(await daemon.workspaces.list()).toEqual([{ ...before[0], project_ids: ["test"] }]);
  await daemon.projects.register(unused, PERSON);
  expect(await daemon.workspaces.list()).toEqual(before);
  expect((await daemon.projects.list()).map(({ name }) => name)).toEqual(["project", "unused"]);
  await daemon.close();
});

test("what was kept of the workspaces and cannot be read keeps no daemon from starting", async () => {
  const gate = await createTestGate();
  await gate.project.sessions.open({}, agent);
  await gate.daemon.workspaces.create({ id: "shop", name: "The shop" });
  await gate.daemon.close();
  rmSync(join(gate.home, "gate.db"));
  writeFileSync(join(gate.home, "workspaces.json"), '[{"id": 1}]');
  const daemon = await Daemon.open(gate.environment, { port: 1 });
  expect(await daemon.workspaces.list()).toEqual([]);
  expect(await daemon.projects.list()).toMatchObject([{ id: "test" }]);
  await daemon.close();
});

test("what was approved and not begun is carried out at the next start, unasked", async () => {
  const gate = await createTestGate({ policies: { defaultEffect: "ask" } });
  const input = { path: "a.txt", content: "approved" };
  const { action } = await gate.project.actions.submit({ tool: "write_file", input }, agent);
  // As if the daemon had ended between the decision and the write.
  await gate.project.ledger.commit({
    statements: [{
      sql: "UPDATE actions SET status = 'approved', decided_by = 'me' WHERE id = ?",
      args: [action.id],
    }],
    events: [],
  });
  await gate.daemon.close();
  const daemon = await Daemon.open(gate.environment, { port: 1 });
  expect(readFileSync(join(gate.root, "a.txt"), "utf8")).toBe("approved");
  await daemon.close();
});

test("a closed daemon has freed the home, and opens nothing any more", async () => {
  const gate = await createTestGate();
  const { daemon } = gate;
  await gate.reopen();
  await expect(daemon.projects.get("test")).rejects.toMatchObject({ code: "unavailable" });
  expect((await gate.daemon.status()).healthy).toBe(true);
});

test("limited to one project, the others are not there", async () => {
  const gate = await createTestGate();
  await addProject(gate, "other");
  await gate.daemon.close();
  const daemon = await Daemon.open(gate.environment, { port: 1, project: "other" });
  expect((await daemon.projects.only()).id).toBe("other");
  expect((await daemon.projects.list()).map(({ id }) => id)).toEqual(["other"]);
  await expect(daemon.projects.get("test")).rejects.toMatchObject({ code: "not_found" });
  await daemon.close();
});
