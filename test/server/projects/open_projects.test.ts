import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { listEvents } from "../../../server/audit/store.ts";
import { Database } from "../../../server/db/database.ts";
import { Project } from "../../../server/projects/project.ts";
import { createTestGate, testCaller, type TestGate } from "../../helpers.ts";

const PERSON = { id: "reviewer", scope: "reviewer" } as const;

const agent = testCaller();
const write = { tool: "write_file", input: { path: "a.txt", content: "x" } };

/** A gate with that many more projects, named p0, p1 …, each opened in turn. */
async function gateWith(count: number): Promise<TestGate> {
  const gate = await createTestGate({ policies: { defaultEffect: "ask" } });
  for (let n = 0; n < count; n++) await openAnother(gate, `p${n}`);
  return gate;
}

async function openAnother(gate: TestGate, id: string): Promise<void> {
  const root = join(gate.root, "..", id);
  mkdirSync(root);
  const config = { id, policies: { defaultEffect: "ask" } };
  writeFileSync(join(root, "gate.config.json"), JSON.stringify(config));
  await gate.daemon.projects.register(root, PERSON);
  await gate.daemon.projects.get(id);
}

const isClosed = (project: { ledger: { all(sql: string): Promise<unknown> } }) =>
  project.ledger.all("SELECT 1").then(() => false, () => true);

test("of many ledgers the idle ones are closed, never one that holds something", async () => {
  const gate = await gateWith(70);
  const [idle, holding, used] = await Promise.all(
    ["p0", "p1", "p2"].map((id) => gate.daemon.projects.get(id)),
  );
  await holding!.actions.submit(write, agent);
  gate.clock.advance(7 * 60 * 1000);
  await gate.daemon.projects.get("p2");
  await openAnother(gate, "new");
  expect(await Promise.all([idle, holding, used].map((project) => isClosed(project!))))
    .toEqual([true, false, false]);
  expect(await gate.daemon.listPending()).toHaveLength(1);
  const again = await gate.daemon.projects.get("p0");
  await again.sessions.open({}, agent);
  expect(await again.audit.verify()).toMatchObject({ ok: true, events: 1 });
});

test("a ledger that somebody exports stays open, however slowly it is read", async () => {
  const gate = await gateWith(70);
  const project = await gate.daemon.projects.get("p0");
  await project.sessions.open({}, agent);
  const path = "/api/audit/export?format=csv&project=p0";
  const reader = (await gate.request("GET", path)).body!.getReader();
  await reader.read();
  gate.clock.advance(7 * 60 * 1000);
  await openAnother(gate, "new");
  expect(await isClosed(project)).toBe(false);
  expect(new TextDecoder().decode((await reader.read()).value)).toContain("session.started");
  while (!(await reader.read()).done);
  gate.clock.advance(7 * 60 * 1000);
  await openAnother(gate, "newer");
  expect(await isClosed(project)).toBe(true);
});

test("few ledgers stay open, however long nobody asks", async () => {
  const gate = await gateWith(3);
  const project = await gate.daemon.projects.get("p0");
  gate.clock.advance(24 * 60 * 60 * 1000);
  await openAnother(gate, "new");
  expect(await isClosed(project)).toBe(false);
});

test("a project that is forgotten and registered again at once is open again", async () => {
  const gate = await gateWith(1);
  const root = join(gate.root, "..", "p0");
  for (let n = 0; n < 5; n++) {
    await Promise.all([
      gate.daemon.projects.remove("p0", testCaller("reviewer")),
      gate.daemon.projects.get("p0").catch(() => null),
      gate.daemon.projects.register(root, PERSON).then(() => gate.daemon.projects.get("p0")),
    ].map((step) => Promise.resolve(step).catch(() => null)));
    // The removal may have come last.
    await gate.daemon.projects.register(root, PERSON);
    const open = await gate.daemon.projects.get("p0");
    await open.sessions.open({}, agent);
  }
  const open = await gate.daemon.projects.get("p0");
  expect(await open.audit.verify()).toMatchObject({ ok: true });
  const events = await listEvents(open.ledger, 0, 100);
  expect(events.filter(({ type }) => type === "session.started")).toHaveLength(5);
});

test("a daemon that ends while projects are being opened leaves none of them open", async () => {
  const gate = await gateWith(8);
  await gate.daemon.close();
  await gate.open();
  const opening = Array.from(
    { length: 8 },
    (_, n) => gate.daemon.projects.get(`p${n}`).catch(() => null),
  );
  await gate.daemon.close();
  for (const project of await Promise.all(opening)) {
    if (project) expect(await isClosed(project)).toBe(true);
  }
  await gate.open();
  expect((await gate.daemon.status()).healthy).toBe(true);
});

test("an action is found without opening the ledgers that cannot hold it", async () => {
  const gate = await gateWith(6);
  const ids: string[] = [];
  for (let n = 0; n < 6; n++) {
    const { actions } = await gate.daemon.projects.get(`p${n}`);
    const { action } = await actions.submit(write, agent);
    await actions.cancel(action.id, {}, agent);
    ids.push(action.id);
    gate.clock.advance(24 * 60 * 60 * 1000);
  }
  await gate.reopen();
  const opens = vi.spyOn(Project, "open");
  onTestFinished(() => opens.mockRestore());
  const strangers = [crypto.randomUUID(), gate.environment.id(), `0000${ids[0]!.slice(4)}`];
  for (const id of strangers) {
    expect((await gate.request("GET", `/api/actions/${id}`)).status).toBe(404);
  }
  expect(opens).not.toHaveBeenCalled();
  expect((await gate.request("GET", `/api/actions/${ids[3]}`)).status).toBe(200);
  expect(opens.mock.calls.map(([{ id }]) => id)).toEqual(["p3"]);
});

test("ledgers of before are looked into once, and a lost registry loses no action", async () => {
  const gate = await createTestGate();
  const { action } = await gate.project.actions.submit(write, agent);
  await gate.daemon.close();
  const registry = () => Database.open(join(gate.home, "gate.db"));
  const before = await registry();
  await before.batch([
    { sql: "DELETE FROM action_times", args: [] },
    { sql: "UPDATE projects SET is_indexed = 0, is_awake = 0", args: [] },
  ]);
  await before.close();
  await gate.open();
  expect((await gate.request("GET", `/api/actions/${action.id}`)).status).toBe(200);
  await gate.daemon.close();
  const after = await registry();
  expect(await after.all("SELECT * FROM action_times")).toEqual([
    { prefix: action.id.slice(0, 6), project_id: "test" },
  ]);
  await after.close();
  await gate.open();
});
