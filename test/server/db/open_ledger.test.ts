import fc from "fast-check";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { redactEvent } from "../../../server/audit/redact.ts";
import type { AuditEvent } from "../../../server/evidence/schema.ts";
import { Signer } from "../../../server/audit/signer.ts";
import { listEvents } from "../../../server/audit/store.ts";
import { verifyChain } from "../../../server/audit/verify.ts";
import { hashOf, link } from "../../../server/db/chain.ts";
import { GENESIS } from "../../../server/evidence/chain.ts";
import { Connection } from "../../../server/db/connection.ts";
import { Database } from "../../../server/db/database.ts";
import type { Ledger, NewEvent } from "../../../server/db/ledger.ts";
import { openLedger } from "../../../server/db/open_ledger.ts";
import { startChild } from "../../child.ts";

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "gate-ledger-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function openIn(folder: string) {
  const published: AuditEvent[] = [];
  const durable: AuditEvent[] = [];
  const signer = Signer.open(folder);
  const { ledger, moved_to } = await openLedger({
    project_id: "test",
    folder,
    pid: process.pid,
    now: () => Date.UTC(2026, 0, 1),
    redact: redactEvent,
    sign: (head) => signer.sign(head),
    publish: (events) => published.push(...events),
    noteDurable: (events) => durable.push(...events),
  });
  onTestFinished(() => ledger.close());
  return { ledger, moved_to, published, durable, public_key: signer.public_key };
}

test("an owner's lock that cannot be opened is refused with the cause and the next step", async () => {
  const folder = makeFolder();
  mkdirSync(join(folder, "owner.db"));
  await expect(openIn(folder)).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringMatching(/owner\.db": it cannot be opened; check that its folder exists/),
  });
});

function event(data: Record<string, unknown> = {}): NewEvent {
  const actor = { kind: "agent" as const, id: "a" };
  return { session_id: "s", action_id: null, type: "action.submitted", actor, data };
}

const verify = (ledger: Ledger, public_key: string) =>
  verifyChain(ledger, { public_key, remembered: null });

/** Inserts an open row, as a stand-in for a pending action. */
const insertBlob = (sha256: string) => ({
  sql:
    "INSERT INTO blobs (project_id, sha256, bytes, chunks, created_at) VALUES ('test', ?, 0, 0, 'open')",
  args: [sha256],
});
const decide = (as: string) => ({
  statements: [{
    sql: "UPDATE blobs SET created_at = ? WHERE created_at = 'open' RETURNING sha256",
    args: [as],
  }],
  when: { sql: "SELECT 1 FROM blobs WHERE created_at = ?", args: [as] },
  events: [event({ as })],
});

test("the first event links to the zero hash, and each later event to the one before", async () => {
  const { ledger, published } = await openIn(makeFolder());
  await ledger.commit({ statements: [], events: [event({ n: 1 }), event({ n: 2 })] });
  await ledger.commit({ statements: [], events: [event({ n: 3 })] });
  const events = await listEvents(ledger, 0, 10);
  expect(events.map(({ seq }) => seq)).toEqual([1, 2, 3]);
  expect(events[0]!.prev_hash).toBe("0".repeat(64));
  expect(events[1]!.prev_hash).toBe(events[0]!.hash);
  expect(events[2]!.prev_hash).toBe(events[1]!.hash);
  expect(events.map(hashOf)).toEqual(events.map(({ hash }) => hash));
  expect(published).toEqual(events);
  expect(ledger.head).toEqual({ seq: 3, hash: events[2]!.hash });
});

test("a large ledger whose daemon was killed is read whole, and a damaged one is moved aside", async () => {
  const folder = makeFolder();
  const { ledger } = await openIn(folder);
  const chunk = {
    sql: "INSERT INTO blob_chunks VALUES ('test', 'aa', ?, 'plain', zeroblob(1000000))",
    args: [] as number[],
  };
  await ledger.commit({ statements: [insertBlob("aa"), insertBlob("bb")], events: [event()] });
  for (let n = 0; n < 18; n++) {
    await ledger.commit({ statements: [{ ...chunk, args: [n] }], events: [] });
  }
  await ledger.close();
  const damaged = "UPDATE blobs SET created_at = CAST(x'61ff' AS TEXT) WHERE sha256 = 'bb'";
  const database = await Database.open(join(folder, "ledger.db"));
  await database.batch([{ sql: damaged, args: [] }]);
  await database.close();
  const after_stop = await openIn(folder);
  expect(after_stop.moved_to).toBeNull();
  await after_stop.ledger.close();
  // A daemon that ends by itself takes this file away.
  writeFileSync(join(folder, "owner.pid"), "4000000\n");
  const after_crash = await openIn(folder);
  expect(after_crash.moved_to).toMatch(/ledger\.db\.corrupt-/);
  expect(after_crash.ledger.head.seq).toBe(0);
});

test("the hash is over RFC 8785 JSON and independent of the order of keys", () => {
  const at = "2026-01-01T00:00:00.000Z";
  const place = { project_id: "test", at };
  const [one] = link(GENESIS, [event({ b: 1, a: "ü" })], place);
  const [other] = link(GENESIS, [event({ a: "ü", b: 1 })], place);
  expect(one!.event.hash).toBe(other!.event.hash);
  expect(one!.event.hash).toBe(hashOf(one!.event));
  // The hash comes from sha256sum of the canonical text.
  expect(one!.event.hash).toBe("aa87d6c7832c06ca86927b239ae57c6bb32cb5a2df5a6ca29e77413838de0314");
});

test("of 20 concurrent decisions on one row one wins and records one event", async () => {
  const { ledger, published, public_key } = await openIn(makeFolder());
  for (let round = 1; round <= 20; round++) {
    await ledger.commit({ statements: [insertBlob(`${round}`)], events: [] });
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, i) => ledger.commit(decide(`${round}/${i}`))),
    );
    expect(results.filter(({ rows }) => rows[0]!.length === 1)).toHaveLength(1);
    expect(results.filter(({ events }) => events.length === 1)).toHaveLength(1);
    expect(published).toHaveLength(round);
  }
  expect(await verify(ledger, public_key)).toMatchObject({ ok: true, events: 20 });
});

test("20 concurrent commits are appended to the chain in order", async () => {
  const { ledger, published, public_key } = await openIn(makeFolder());
  const commits = Array.from(
    { length: 20 },
    (_, n) => ledger.commit({ statements: [], events: [event({ n }), event({ n })] }),
  );
  const seqs = (await Promise.all(commits)).flatMap(({ events }) => events.map(({ seq }) => seq));
  expect(seqs).toEqual(Array.from({ length: 40 }, (_, i) => i + 1));
  expect(published.map(({ seq }) => seq)).toEqual(seqs);
  expect(await verify(ledger, public_key)).toMatchObject({ ok: true, events: 40 });
});

test("a failing statement rolls back the whole commit, and the next commit succeeds", async () => {
  const { ledger, published } = await openIn(makeFolder());
  await ledger.commit({ statements: [insertBlob("x")], events: [] });
  const change = { statements: [insertBlob("y"), insertBlob("x")], events: [event()] };
  await expect(ledger.commit(change)).rejects.toMatchObject({ code: "conflict" });
  expect(await ledger.all("SELECT sha256 FROM blobs")).toEqual([{ sha256: "x" }]);
  expect(published).toEqual([]);
  const { events } = await ledger.commit({ statements: [], events: [event()] });
  expect(events[0]!.seq).toBe(1);
});

test("a commit fails as a whole on a full disk and succeeds when there is space again", async () => {
  const { ledger, published, public_key } = await openIn(makeFolder());
  await ledger.commit({ statements: [], events: [event()] });
  const [pages] = await ledger.all("PRAGMA page_count");
  await ledger.all(`PRAGMA max_page_count = ${pages!.page_count}`);
  const big = { statements: [insertBlob("x".repeat(100_000))], events: [event()] };
  await expect(ledger.commit(big)).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringContaining("the disk is full"),
  });
  expect(published).toHaveLength(1);
  expect(await ledger.all("SELECT 1 FROM blobs")).toEqual([]);
  expect((await ledger.commit(big)).events).toMatchObject([{ seq: 2 }]);
  expect(await verify(ledger, public_key)).toMatchObject({ ok: true, events: 2 });
});

test("a commit re-reads the head after another process has appended an event", async () => {
  const folder = makeFolder();
  const { ledger, public_key } = await openIn(folder);
  await ledger.commit({ statements: [], events: [event()] });
  const other = await Database.open(join(folder, "ledger.db"));
  onTestFinished(() => other.close());
  const [linked] = link(ledger.head, [event({ by: "another daemon" })], {
    project_id: "test",
    at: "2026-01-01T00:00:00.000Z",
  });
  const foreign = linked!.event;
  await other.batch([{
    sql: "INSERT INTO audit VALUES (?, ?, ?, ?, NULL, ?, ?, ?, ?, ?)",
    args: [
      "test",
      foreign.seq,
      foreign.at,
      "s",
      foreign.type,
      '{"id":"a","kind":"agent"}',
      '{"by":"another daemon"}',
      foreign.prev_hash,
      foreign.hash,
    ],
  }]);
  const { events, rows } = await ledger.commit({
    statements: [insertBlob("x")],
    events: [event({ by: "us" })],
  });
  expect(events).toMatchObject([{ seq: 3, prev_hash: foreign.hash }]);
  expect(rows).toHaveLength(1);
  expect(await verify(ledger, public_key)).toMatchObject({ ok: true, events: 3 });
});

test.each(["UPDATE audit SET data = '{}'", "DELETE FROM audit", "DELETE FROM checkpoints"])(
  "the chain refuses: %s",
  async (sql) => {
    const { ledger } = await openIn(makeFolder());
    await ledger.commit({
      statements: [],
      events: Array.from({ length: 1000 }, () => event()),
    });
    await expect(ledger.commit({ statements: [{ sql, args: [] }], events: [] }))
      .rejects.toThrow("append-only");
  },
);

test("the ledger signs the head every 1,000 events, also when a commit passes that number", async () => {
  const { ledger, public_key } = await openIn(makeFolder());
  const add = (n: number) =>
    ledger.commit({ statements: [], events: Array.from({ length: n }, () => event()) });
  await add(999);
  expect(await ledger.all("SELECT seq FROM checkpoints")).toEqual([]);
  await add(3);
  await add(998);
  expect(await ledger.all("SELECT seq FROM checkpoints")).toEqual([{ seq: 1002 }, { seq: 2000 }]);
  expect(await verify(ledger, public_key)).toMatchObject({ ok: true, checkpoints: 2 });
});

test("the chain verifies after any commits and reopenings", async () => {
  const folder = makeFolder();
  const change = fc.record({
    decided: fc.boolean(),
    events: fc.array(fc.dictionary(fc.string(), fc.jsonValue()), { maxLength: 4 }),
    isReopened: fc.boolean(),
  });
  let { ledger, public_key } = await openIn(folder);
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 8 }), async (changes) => {
      for (const { decided, events, isReopened } of changes) {
        const before = ledger.head.seq;
        await ledger.commit({
          statements: [],
          events: events.map(event),
          when: { sql: "SELECT 1 WHERE ?", args: [decided ? 1 : 0] },
        });
        expect(ledger.head.seq - before).toBe(decided ? events.length : 0);
        if (!isReopened) continue;
        await ledger.close();
        ({ ledger, public_key } = await openIn(folder));
      }
      expect(await verify(ledger, public_key)).toMatchObject({
        ok: true,
        events: ledger.head.seq,
        problem: null,
      });
    }),
    { numRuns: 25 },
  );
});

test("a second process cannot open the ledger until its owner ends", async () => {
  const folder = makeFolder();
  const child = await startChild("server/db/commit_forever.ts", [folder]);
  expect(await child.readLine()).toBe("1");
  await expect(openIn(folder)).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringContaining(`process ${child.pid} owns it`),
  });
  await child.kill();
  const { ledger } = await openIn(folder);
  expect(ledger.head.seq).toBeGreaterThan(0);
});

test("every acknowledged commit survives kill -9, and the chain verifies", async () => {
  const folder = makeFolder();
  for (let round = 0; round < 8; round++) {
    const child = await startChild("server/db/commit_forever.ts", [folder]);
    let acknowledged = 0;
    const wanted = 1 + round * 7;
    for (let n = 0; n < wanted; n++) acknowledged = Number(await child.readLine());
    const killed = child.kill();
    for (let line = await child.readLine(); line; line = await child.readLine()) {
      acknowledged = Number(line);
    }
    await killed;
    const { ledger, public_key, moved_to } = await openIn(folder);
    expect(moved_to).toBeNull();
    expect(ledger.head.seq).toBeGreaterThanOrEqual(acknowledged);
    expect(await ledger.all("SELECT count(*) AS n FROM blobs")).toEqual([{ n: ledger.head.seq }]);
    expect(await verify(ledger, public_key)).toMatchObject({ ok: true });
    await ledger.close();
  }
});

test("close() leaves one file and no owner", async () => {
  const folder = makeFolder();
  const { ledger } = await openIn(folder);
  await ledger.commit({ statements: [], events: [event()] });
  await ledger.close();
  expect(existsSync(join(folder, "owner.pid"))).toBe(false);
  rmSync(join(folder, "ledger.db-wal"), { force: true });
  expect((await openIn(folder)).ledger.head.seq).toBe(1);
  expect(readdirSync(folder).filter((name) => name.includes("corrupt"))).toEqual([]);
});

describe("a derivable commit", () => {
  const derivable = (n: number) => ({
    ...{ statements: [], events: [event({ n })] },
    is_derivable: true,
  });

  test("is published at once, and durable with the next other commit", async () => {
    const { ledger, published, durable } = await openIn(makeFolder());
    await ledger.commit({ statements: [], events: [event({ n: 1 })] });
    expect(durable).toEqual(published);
    await ledger.commit(derivable(2));
    await ledger.commit(derivable(3));
    expect(published.map(({ seq }) => seq)).toEqual([1, 2, 3]);
    expect(durable.map(({ seq }) => seq)).toEqual([1]);
    expect([ledger.head.seq, ledger.durable.seq]).toEqual([3, 1]);
    await ledger.commit({ statements: [], events: [event({ n: 4 })] });
    expect(durable).toEqual(published);
    expect(ledger.durable).toEqual(ledger.head);
  });

  test("is durable after 50 ms, or when someone needs the head", async () => {
    const { ledger, published, durable } = await openIn(makeFolder());
    await ledger.commit(derivable(1));
    await ledger.sync();
    expect(durable).toEqual(published);
    await ledger.commit(derivable(2));
    expect(durable).toHaveLength(1);
    await vi.waitFor(() => expect(durable).toEqual(published), 60_000);
    expect(ledger.durable).toEqual(ledger.head);
  });

  test("is durable after the ledger was closed, and is reported before", async () => {
    const folder = makeFolder();
    const { ledger, published, durable } = await openIn(folder);
    await ledger.commit(derivable(1));
    await ledger.close();
    expect(durable).toEqual(published);
    const { ledger: again } = await openIn(folder);
    expect(again.durable).toEqual({ seq: 1, hash: published[0]!.hash });
  });

  test("runs behind its answer when it is certain, with the head of the answer", async () => {
    const folder = makeFolder();
    const { ledger, published, public_key } = await openIn(folder);
    const ran = vi.spyOn(Connection.prototype, "batch");
    onTestFinished(() => ran.mockRestore());
    const { rows, events } = await ledger.commit({
      ...derivable(1),
      statements: [insertBlob("a")],
      is_certain: true,
    });
    expect(ran).not.toHaveBeenCalled();
    expect([rows, events, published]).toEqual([[[]], published, [expect.anything()]]);
    expect(ledger.head).toEqual({ seq: 1, hash: published[0]!.hash });
    expect(await ledger.all("SELECT seq FROM audit")).toEqual([{ seq: 1 }]);
    await ledger.commit({ ...derivable(2), is_certain: true });
    await ledger.commit({ statements: [], events: [event({ n: 3 })] });
    await ledger.close();
    const { ledger: again } = await openIn(folder);
    expect(again.head).toEqual({ seq: 3, hash: published[2]!.hash });
    expect(await verify(again, public_key)).toMatchObject({ ok: true });
  });

  test("does not report events of a sync that began before their commit", async () => {
    const { ledger, durable } = await openIn(makeFolder());
    await ledger.commit(derivable(1));
    const syncing = ledger.sync();
    await ledger.commit(derivable(2));
    await syncing;
    expect(durable.map(({ seq }) => seq)).toEqual([1]);
  });

  test("is reported once when commits and syncs meet", async () => {
    const { ledger, published, durable } = await openIn(makeFolder());
    const all = Array.from({ length: 60 }, (_, n) => {
      if (n % 5 === 4) return ledger.sync();
      return ledger.commit({ ...derivable(n), is_derivable: n % 3 > 0 });
    });
    await Promise.all(all);
    await ledger.sync();
    expect(durable).toEqual(published);
    expect(published).toHaveLength(48);
  });
});

test("events are published in the order of the chain, none before its caller's commit is durable", async () => {
  const { ledger, published } = await openIn(makeFolder());
  const commit = (name: string, is_derivable = false) =>
    ledger.commit({ statements: [], events: [event({ name })], is_derivable });
  const waiting = [commit("a"), commit("b", true), commit("c"), commit("d", true)];
  const [, held] = waiting;
  await held;
  // The second does not wait for the disk, and its event waits for the first.
  expect(published.map(({ data }) => data.name)).not.toContain("c");
  await Promise.all(waiting);
  expect(published.map(({ data }) => data.name)).toEqual(["a", "b", "c", "d"]);
});
