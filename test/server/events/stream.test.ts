import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import type { AuditEvent } from "../../../server/evidence/schema.ts";
import { REGISTRY_MIGRATIONS } from "../../../server/db/registry_migrations.ts";
import { openChecked } from "../../../server/db/health.ts";
import { Bus } from "../../../server/events/bus.ts";
import { Stream, type StreamLimits } from "../../../server/events/stream.ts";
import { Database } from "../../../server/db/database.ts";
import type { PublishedEvent } from "../../../server/events/schema.ts";
import { createTestGate, testCaller, type TestGate } from "../../helpers.ts";

const agent = testCaller();

async function openSessions(gate: TestGate, count: number): Promise<void> {
  for (let n = 0; n < count; n++) await gate.project.sessions.open({ agent: `a${n}` }, agent);
}

const seqs = (events: PublishedEvent[] | null) => events?.map(({ seq }) => seq);

test("since() returns exactly the events after a cursor, in order", async () => {
  const gate = await createTestGate();
  await openSessions(gate, 5);
  expect(gate.events.map(({ cursor }) => cursor)).toEqual([1, 2, 3, 4, 5]);
  expect(await gate.daemon.stream.since(2, 10)).toEqual(gate.events.slice(2));
  expect(seqs(await gate.daemon.stream.since(0, 2))).toEqual([1, 2]);
  expect(await gate.daemon.stream.since(5, 10)).toEqual([]);
});

test("cursors keep growing after a restart, and old cursors stay valid", async () => {
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

test("since() returns null for a cursor that the stream never issued", async () => {
  const gate = await createTestGate();
  await openSessions(gate, 1);
  expect(await gate.daemon.stream.since(gate.daemon.stream.head + 1, 10)).toBeNull();
  expect(await gate.daemon.stream.since(-1, 10)).toBeNull();
});

test("the next start publishes events that a crash kept from the stream", async () => {
  const gate = await createTestGate();
  await openSessions(gate, 3);
  await gate.daemon.close();
  // Restores the registry to the state before it received the last two events.
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
  // A reader that saw all three events receives the last two again: delivery is at least once.
  expect(seqs(await gate.daemon.stream.since(1, 10))).toEqual([2, 3]);
  expect(seqs(await gate.daemon.stream.since(3, 10))).toEqual([2, 3]);
});

async function hashOfEvent(gate: TestGate, seq: number): Promise<string> {
  const ledger = await Database.open(`${gate.home}/projects/test/ledger.db`);
  const rows = await ledger.all("SELECT hash FROM audit WHERE seq = ?", [seq]);
  await ledger.close();
  return String(rows[0]!.hash);
}

/** Opens a stream with the given limits on a new registry. */
async function openStream(limits: StreamLimits) {
  const folder = mkdtempSync(join(tmpdir(), "gate-stream-"));
  const { database } = await openChecked(join(folder, "gate.db"), {
    migrations: REGISTRY_MIGRATIONS,
    now: Date.now,
  });
  const warnings: string[] = [];
  const log = (_level: string, message: string) => void warnings.push(message);
  const stream = await Stream.open(database, new Bus(), log, limits);
  onTestFinished(async () => {
    await stream.close();
    await database.close();
    rmSync(folder, { recursive: true });
  });
  let seq = 0;
  const append = (count: number) => {
    for (let n = 0; n < count; n++) stream.append([sessionStarted(++seq)]);
  };
  return { stream, database, warnings, append };
}

const sessionStarted = (seq: number): AuditEvent => ({
  seq,
  at: "2026-01-01T00:00:00.000Z",
  project_id: "test",
  session_id: "s",
  action_id: null,
  type: "session.started",
  actor: { kind: "agent", id: "a" },
  data: {},
  prev_hash: `${seq - 1}`,
  hash: `${seq}`,
});

test("old events are pruned, and a cursor before them returns null", async () => {
  const { stream, database, append } = await openStream({ keep: 10, prune_every: 5, unsaved: 99 });
  append(40);
  const rows = () => database.all("SELECT count(*) AS n FROM stream");
  await vi.waitFor(async () => expect(await rows()).toEqual([{ n: 10 }]), 60_000);
  expect(await stream.since(29, 100)).toBeNull();
  expect(seqs(await stream.since(30, 100))).toEqual([31, 32, 33, 34, 35, 36, 37, 38, 39, 40]);
});

test("append() neither blocks nor grows without bound while the registry is read-only", async () => {
  const { stream, database, warnings, append } = await openStream({
    keep: 100,
    prune_every: 100,
    unsaved: 5,
  });
  await database.all("PRAGMA query_only = ON");
  append(8);
  await vi.waitFor(() =>
    expect(warnings).toContain(
      "Cannot save events for readers that resume",
    ), 60_000);
  expect(await stream.since(2, 100)).toBeNull();
  expect(seqs(await stream.since(3, 100))).toEqual([4, 5, 6, 7, 8]);
  await database.all("PRAGMA query_only = OFF");
  append(1);
  await stream.close();
  expect(seqs(await stream.since(4, 100))).toEqual([5, 6, 7, 8, 9]);
});

test("a listener that throws affects neither the commit nor other listeners", async () => {
  const gate = await createTestGate();
  gate.daemon.bus.subscribe(() => {
    throw new Error("broken listener");
  });
  const heard: number[] = [];
  gate.daemon.bus.subscribe(({ seq }) => heard.push(seq));
  await openSessions(gate, 2);
  expect(heard).toEqual([1, 2]);
});

test("only a head that is known to be durable is remembered", async () => {
  const { stream, append } = await openStream({ keep: 100, prune_every: 100, unsaved: 99 });
  append(2);
  stream.remember([sessionStarted(1)]);
  await stream.close();
  expect(await stream.remembered("test")).toEqual({ seq: 1, hash: "1" });
  stream.remember([sessionStarted(2)]);
  await stream.close();
  expect(await stream.remembered("test")).toEqual({ seq: 2, hash: "2" });
});
