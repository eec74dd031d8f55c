import { expect, test } from "vitest";
import { Database } from "../../../server/db/database.ts";
import type { PublishedEvent } from "../../../server/events/schema.ts";
import { createTestGate, testCaller, type TestGate } from "../../helpers.ts";

const agent = testCaller();

async function openSessions(gate: TestGate, count: number): Promise<void> {
  for (let n = 0; n < count; n++) await gate.project.sessions.open({ agent: `a${n}` }, agent);
}

const seqs = (events: PublishedEvent[] | null) => events?.map(({ seq }) => seq);

test("a reader that comes back gets what it has missed, in order, and no more", async () => {
  const gate = await createTestGate();
  await openSessions(gate, 5);
  expect(gate.events.map(({ cursor }) => cursor)).toEqual([1, 2, 3, 4, 5]);
  expect(await gate.daemon.stream.since(2, 10)).toEqual(gate.events.slice(2));
  expect(seqs(await gate.daemon.stream.since(0, 2))).toEqual([1, 2]);
  expect(await gate.daemon.stream.since(5, 10)).toEqual([]);
});

test("cursors go on growing over a restart, and old ones still work", async () => {
  const gate = await createTestGate();
  await openSessions(gate, 2);
  const [first, second] = gate.events;
  await gate.reopen();
  expect(await gate.daemon.stream.since(first!.cursor, 10)).toEqual([second]);
  await openSessions(gate, 1);
  const third = gate.events.at(-1)!;
  expect(third.cursor).toBeGreaterThan(second!.cursor);
  expect(await gate.daemon.stream.since(first!.cursor, 10)).toEqual([second, third]);
});

test("a cursor that is not ours asks for everything again", async () => {
  const gate = await createTestGate();
  await openSessions(gate, 1);
  expect(await gate.daemon.stream.since(gate.daemon.stream.head + 1, 10)).toBeNull();
  expect(await gate.daemon.stream.since(-1, 10)).toBeNull();
});

test("events that a crash kept from the stream are published at the next start", async () => {
  const gate = await createTestGate();
  await openSessions(gate, 3);
  await gate.daemon.close();
  // As if the daemon had died before the registry was written.
  const registry = await Database.open(`${gate.home}/gate.db`);
  const rows = await registry.all("SELECT * FROM stream ORDER BY cursor");
  expect(seqs(rows as unknown as PublishedEvent[])).toEqual([1, 2, 3]);
  const kept = await hashOfEvent(gate, 1);
  await registry.batch([
    { sql: "DELETE FROM stream WHERE seq > 1", args: [] },
    { sql: "UPDATE heads SET seq = 1, hash = ?", args: [kept] },
    { sql: "UPDATE projects SET is_awake = 1", args: [] },
  ]);
  await registry.close();
  await gate.open();
  // A reader that had seen all three gets the lost ones again: twice is harmless, never is not.
  expect(seqs(await gate.daemon.stream.since(1, 10))).toEqual([2, 3]);
  expect(seqs(await gate.daemon.stream.since(3, 10))).toEqual([2, 3]);
});

async function hashOfEvent(gate: TestGate, seq: number): Promise<string> {
  const ledger = await Database.open(`${gate.home}/projects/test/ledger.db`);
  const rows = await ledger.all("SELECT hash FROM audit WHERE seq = ?", [seq]);
  await ledger.close();
  return String(rows[0]!.hash);
}

test("a listener that throws is dropped; the commit and the others do not notice", async () => {
  const gate = await createTestGate();
  gate.daemon.bus.subscribe(() => {
    throw new Error("broken listener");
  });
  const heard: number[] = [];
  gate.daemon.bus.subscribe(({ seq }) => heard.push(seq));
  await openSessions(gate, 2);
  expect(heard).toEqual([1, 2]);
});
