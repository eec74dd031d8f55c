import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createTestGate, testCaller, type TestGate } from "../../helpers.ts";

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
  await gate.daemon.registerProject(root);
  await gate.daemon.project(id);
}

const isClosed = (project: { ledger: { all(sql: string): Promise<unknown> } }) =>
  project.ledger.all("SELECT 1").then(() => false, () => true);

test("of many ledgers the idle ones are closed, never one that holds something", async () => {
  const gate = await gateWith(70);
  const [idle, holding, used] = await Promise.all(
    ["p0", "p1", "p2"].map((id) => gate.daemon.project(id)),
  );
  await holding!.actions.submit(write, agent);
  gate.clock.advance(16 * 60 * 1000);
  await gate.daemon.project("p2");
  await openAnother(gate, "new");
  expect(await Promise.all([idle, holding, used].map((project) => isClosed(project!))))
    .toEqual([true, false, false]);
  expect(await gate.daemon.listPending()).toHaveLength(1);
  const again = await gate.daemon.project("p0");
  await again.sessions.open({}, agent);
  expect(await again.audit.verify()).toMatchObject({ ok: true, events: 1 });
});

test("few ledgers stay open, however long nobody asks", async () => {
  const gate = await gateWith(3);
  const project = await gate.daemon.project("p0");
  gate.clock.advance(24 * 60 * 60 * 1000);
  await openAnother(gate, "new");
  expect(await isClosed(project)).toBe(false);
});

test("a project that is forgotten and registered again at once is open again", async () => {
  const gate = await gateWith(1);
  const root = join(gate.root, "..", "p0");
  for (let n = 0; n < 5; n++) {
    const [, , project] = await Promise.all([
      gate.daemon.removeProject("p0"),
      gate.daemon.project("p0").catch(() => null),
      gate.daemon.registerProject(root).then(() => gate.daemon.project("p0")),
    ].map((step) => Promise.resolve(step).catch(() => null)));
    if (project === null) await gate.daemon.registerProject(root);
    const open = await gate.daemon.project("p0");
    await open.sessions.open({}, agent);
  }
  const open = await gate.daemon.project("p0");
  expect(await open.audit.verify()).toMatchObject({ ok: true, events: 5 });
});

test("a daemon that ends while projects are being opened leaves none of them open", async () => {
  const gate = await gateWith(8);
  await gate.daemon.close();
  await gate.open();
  const opening = Array.from(
    { length: 8 },
    (_, n) => gate.daemon.project(`p${n}`).catch(() => null),
  );
  await gate.daemon.close();
  for (const project of await Promise.all(opening)) {
    if (project) expect(await isClosed(project)).toBe(true);
  }
  await gate.open();
  expect((await gate.daemon.status()).healthy).toBe(true);
});
