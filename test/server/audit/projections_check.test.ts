import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { checkProjections } from "../../../server/audit/projections_check.ts";
import { Database } from "../../../server/db/database.ts";
import type { Ledger } from "../../../server/db/ledger.ts";
import type { TestGate } from "../../helpers.ts";
import { openGate, reviewer } from "../actions/harness.ts";

async function openBusy() {
  const world = await openGate({
    policies: { defaultEffect: "allow", askPaths: ["held/**"], blockedPaths: [".env"] },
  });
  const { gate, actions, write, back } = world;
  const first = await write("a.txt", "one");
  gate.clock.advance(2 * 60 * 60_000);
  await write("b.txt", "two");
  await write(".env", "no");
  const held = await write("held/a.txt", "three");
  await actions.approve(held.id, {}, reviewer);
  await write("held/b.txt", "four");
  await back(first.id);
  return world;
}

/** Changes the ledger as another program would, when everything is counted. */
async function change({ project: { ledger } }: TestGate, sql: string): Promise<void> {
  await ledger.catchUp();
  await ledger.commit({ statements: [{ sql, args: [] }], events: [] });
}

test("projections that follow the actions equal a recount, also while agents work", async () => {
  const { gate, write } = await openBusy();
  expect(await gate.project.audit.verify()).toMatchObject({ ok: true, problem: null });
  const checks = Promise.all([1, 2, 3].map(() => gate.project.audit.verify()));
  for (let n = 0; n < 20; n++) await write(`c${n}.txt`, `${n}`);
  for (const result of await checks) expect(result).toMatchObject({ ok: true, problem: null });
  expect(await gate.project.audit.verify()).toMatchObject({ ok: true, problem: null });
});

test("a commit before any query of the check is no fault, although no projection has followed it", async () => {
  const { gate } = await openBusy();
  const { ledger } = gate.project;
  const database = await Database.open(join(gate.home, "projects", "test", "ledger.db"));
  onTestFinished(() => database.close());
  let n = 0;
  const busy: Pick<Ledger, "project_id" | "head" | "all" | "catchUp"> = {
    project_id: ledger.project_id,
    head: { ...ledger.head, seq: ledger.head.seq + 1_000 },
    catchUp: () => ledger.catchUp(),
    async all(sql, args) {
      const copy = { sql: COPY, args: [`copy${n}`, 1_000 + n++] };
      await ledger.commit({ statements: [copy], events: [] });
      return await database.all(sql, args);
    },
  };
  expect(await checkProjections(busy as Ledger)).toBe(null);
  expect(n).toBeGreaterThan(10);
  expect(await checkProjections(ledger)).toBe(null);
});

const COPY =
  `INSERT INTO actions (project_id, id, number, seq, root, session_id, agent, tool, path, status,
    execution, decision, risk, reversible, digest, created_at)
  SELECT project_id, ?1, ?2, ?2, root, session_id, agent, tool, path, 'pending', execution, decision, risk,
    0, '', created_at FROM actions ORDER BY number LIMIT 1`;

test.each([
  ["UPDATE sessions SET done_count = 7", /has the done_count 7, but a recount gives \d$/],
  ["UPDATE sessions SET pending_count = 0", /pending_count 0, but a recount gives 1$/],
  ["UPDATE sessions SET action_count = action_count - 1", /has the action_count \d/],
  ["UPDATE daily_counts SET n = n + 1 WHERE kind = 'hour'", /the hour 2026-01-01T00 has the n 2/],
  ["DELETE FROM action_hours WHERE hour = '2026-01-01T02'", /the hour 2026-01-01T02 has the n 0/],
  ["UPDATE action_hours SET last_seq = last_seq + 1", /has the last_seq \d/],
  ["INSERT INTO action_hours VALUES ('test', '2025-01-01T00', 1, 1)", /the hour 2025-01-01T00/],
  ["DELETE FROM actions_words WHERE rowid = 2", /the search lacks action 2/],
  ["DELETE FROM action_index WHERE name = 'path' AND seq = 1", /action_index lacks number 1/],
  ["UPDATE action_index SET value = 'x' WHERE name = 'agent'", /action_index lacks number 1/],
  [
    "INSERT INTO action_index VALUES ('test', 'path', 'other.txt', 1, 1)",
    /action_index has an entry for number 1 that is not true/,
  ],
  ["DELETE FROM audit_index WHERE name = 'at' AND seq = 3", /audit_index lacks number 3/],
  ["INSERT INTO audit_index VALUES ('test', 'at', 'x', 999)", /audit_index has an entry/],
])("verify() and its route tell that a projection is wrong: %s", async (sql, what) => {
  const { gate } = await openBusy();
  await change(gate, sql);
  const answer = await gate.request("GET", "/api/audit/verify");
  expect(await answer.json()).toMatchObject({
    ok: false,
    problem: { seq: null, what: expect.stringMatching(what) },
  });
});
