import { join } from "node:path";
import { setImmediate as pause } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { Connection } from "../../../server/db/connection.ts";
import { Database } from "../../../server/db/database.ts";
import type { Statement } from "../../../server/db/ledger.ts";
import { projectSome } from "../../../server/db/projections.ts";
import { Projector } from "../../../server/db/projector.ts";
import type { TestGate } from "../../helpers.ts";
import { openGate, reviewer } from "../actions/harness.ts";

const ASK = { policies: { defaultEffect: "ask" as const } };

async function find(gate: TestGate, q: string): Promise<string[]> {
  const { items } = await gate.project.actions.list({ q });
  return items.map(({ id }) => id);
}

/** The numbers of the actions, and those in the word index. */
async function numbers(gate: TestGate) {
  // A connection of its own, because a query of the ledger would first fill the index.
  const database = await Database.open(join(gate.home, "projects", "test", "ledger.db"));
  onTestFinished(() => database.close());
  const of = async (sql: string) => (await database.all(sql)).map(({ n }) => Number(n));
  return {
    actions: await of("SELECT number AS n FROM actions ORDER BY number"),
    words: await of("SELECT rowid AS n FROM actions_words ORDER BY rowid"),
  };
}

/** Statements that insert copies of the action with that id. */
function copiesOf(id: string, from: number, to: number) {
  return Array.from({ length: to - from }, (_, n) => ({
    sql: `INSERT INTO actions (project_id, id, number, seq, root, session_id, agent, tool, path,
        status, execution, decision, risk, reversible, digest, created_at, decided_by)
      SELECT project_id, ?, place, place, root, session_id, agent, tool, ?, 'approved', execution,
        decision, risk, 0, '', created_at, 'policy'
      FROM actions, (SELECT max(number) + 1 AS place FROM actions) WHERE id = ?`,
    args: [`copy${from + n}`, `copies/number${from + n}.txt`, id],
  }));
}

test("an action that changes before and after its words are indexed is found by its last words", async () => {
  const { gate, submit, actions } = await openGate(ASK);
  const early = await submit("write_file", { path: "early.txt", content: "x" });
  await actions.reject(early.id, { reason: "zebra" }, reviewer);
  expect((await numbers(gate)).words).toEqual([]);
  expect(await find(gate, "zebra")).toEqual([early.id]);
  const late = await submit("write_file", { path: "late.txt", content: "x" });
  expect(await find(gate, "late")).toEqual([late.id]);
  await actions.reject(late.id, { reason: "giraffe" }, reviewer);
  expect(await find(gate, "giraffe")).toEqual([late.id]);
  expect(await find(gate, "late giraffe")).toEqual([late.id]);
  const { actions: all, words } = await numbers(gate);
  expect(words).toEqual(all);
});

test("a search after a restart finds what was not indexed before it, in several commits", async () => {
  const { gate, submit } = await openGate(ASK);
  const { id } = await submit("write_file", { path: "first.txt", content: "x" });
  await gate.project.ledger.commit({ statements: copiesOf(id, 0, 250), events: [] });
  expect((await numbers(gate)).words).toEqual([]);
  await gate.reopen();
  expect(await find(gate, "number249")).toEqual(["copy249"]);
  expect((await gate.project.actions.list({ q: "copies", limit: 500 })).items).toHaveLength(250);
  const { actions, words } = await numbers(gate);
  expect(words).toEqual(actions);
});

test("the words of an action are indexed behind the answer, without a search", async () => {
  const { gate, write } = await openGate({});
  await write("a.txt", "x");
  await expect.poll(async () => (await numbers(gate)).words, { timeout: 10_000 }).toHaveLength(1);
});

test("many changes are projected without a pause and without a read", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const written: Statement[][] = [];
  const projector = new Projector({
    exclusive: (task) => task((all) => (written.push(all), Promise.resolve(all.map(() => [])))),
  });
  for (let commit = 1; commit < 200; commit++) projector.note();
  expect(written).toEqual([]);
  projector.note();
  expect(written).toEqual([projectSome()]);
  await projector.close();
});

const count = (sql: string) => `SELECT count(*) AS n FROM ${sql}`;

test("a query waits only for the projection that it reads", async () => {
  const { gate, submit } = await openGate(ASK);
  const { id } = await submit("write_file", { path: "first.txt", content: "x" });
  const { ledger } = gate.project;
  await ledger.commit({ statements: copiesOf(id, 0, 250), events: [] });
  const listed = await ledger.all(count("action_index WHERE name = 'path'"));
  expect(listed).toEqual([{ n: 251 }]);
  expect((await numbers(gate)).words).toEqual([]);
  expect(await ledger.all(count("actions_words"))).toEqual([{ n: 251 }]);
});

test("no commit comes between the queries of one read, however many wait", async () => {
  const { gate, submit } = await openGate(ASK);
  const { id } = await submit("write_file", { path: "first.txt", content: "x" });
  const { ledger } = gate.project;
  let isWriting = true;
  const writers = Array.from({ length: 4 }, async (_, writer) => {
    for (let at = 0; at < 50; at++) {
      const n = 50 * writer + at;
      await ledger.commit({ statements: copiesOf(id, n, n + 1), events: [] });
    }
  });
  const reader = (async () => {
    const seen: number[] = [];
    while (isWriting) {
      const [[actions], [listed]] = await ledger.caughtUp("action_index", () =>
        Promise.all([
          ledger.all(count("actions")),
          ledger.all(count("action_index WHERE name = 'tool'")),
        ]));
      expect(listed).toEqual(actions);
      seen.push(Number(listed!.n));
      await pause();
    }
    return seen;
  })();
  await Promise.all(writers);
  isWriting = false;
  const seen = await reader;
  // It read in between, and starved neither the writers nor itself.
  expect(new Set(seen).size).toBeGreaterThan(5);
  expect(await ledger.all(count("action_index WHERE name = 'tool'"))).toEqual([{ n: 201 }]);
});

test("a query in a read waits for nothing more: what the read did not name is refused", async () => {
  const { gate } = await openGate(ASK);
  const { ledger } = gate.project;
  const words = () => ledger.all(count("actions_words"));
  await expect(ledger.caughtUp("action_index", words)).rejects.toThrow(/does not wait for words/);
  expect(await ledger.caughtUp("action_index actions_words", words)).toEqual([{ n: 0 }]);
  expect(await ledger.caughtUp("actions_words", words)).toEqual([{ n: 0 }]);
});

test("while the disk is full, people read what is counted, listed and found", async () => {
  const { gate, submit } = await openGate(ASK);
  const { id, session_id } = await submit("write_file", { path: "zebra.txt", content: "x" });
  const { run } = Connection.prototype;
  const spy = vi.spyOn(Connection.prototype, "run").mockImplementation(
    function (this: Connection, statement) {
      if (statement.sql !== "COMMIT") return run.call(this, statement);
      throw Object.assign(new Error("full"), { code: "SQLITE_FULL" });
    },
  );
  onTestFinished(() => spy.mockRestore());
  await expect(submit("write_file", { path: "b.txt", content: "x" })).rejects.toMatchObject({
    message: expect.stringContaining("the disk is full"),
  });
  expect(await find(gate, "zebra")).toEqual([id]);
  expect((await gate.project.actions.list({ path: "zebra.txt" })).items).toHaveLength(1);
  expect(await gate.project.sessions.get(session_id)).toMatchObject({ pending_count: 1 });
  spy.mockRestore();
  await submit("write_file", { path: "b.txt", content: "x" });
  expect(await gate.project.sessions.get(session_id)).toMatchObject({ pending_count: 2 });
  const { actions, words } = await numbers(gate);
  expect([words.length, actions.length]).toEqual([1, 2]);
});

test("a query fails when the ledger closes before its projection is ready", async () => {
  const { gate, submit } = await openGate(ASK);
  const { id } = await submit("write_file", { path: "first.txt", content: "x" });
  const { ledger } = gate.project;
  await ledger.commit({ statements: copiesOf(id, 0, 250), events: [] });
  const read = ledger.all(count("actions_words"));
  const closed = ledger.close();
  await expect(read).rejects.toMatchObject({ code: "unavailable" });
  await closed;
});
