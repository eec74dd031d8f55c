import { readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { SubmitInput } from "../../../server/actions/schema.ts";
import { isRolledBack } from "../../../server/audit/actions_store.ts";
import { createTestGate, testCaller, type TestGate } from "../../helpers.ts";

const agent = testCaller();
const reviewer = testCaller("reviewer");
const FREE = [
  "audit_no_update",
  "audit_no_delete",
  "checkpoints_no_update",
  "checkpoints_no_delete",
]
  .map((name) => `DROP TRIGGER IF EXISTS ${name}`);

const SWAP = "UPDATE audit SET seq = -seq WHERE seq IN (4, 5);" +
  "UPDATE audit SET seq = 9 + seq WHERE seq < 0";

/** A gate whose chain holds `count` events, and one checkpoint of the last. */
async function gateWith(count: number): Promise<TestGate> {
  const gate = await createTestGate();
  for (let n = 0; n < count; n++) await gate.project.sessions.open({ agent: `a${n}` }, agent);
  await gate.project.audit.checkpoint();
  return gate;
}

/** Changes the ledger without its triggers, as an attacker with access to the file can. */
async function tamper(gate: TestGate, ...sql: string[]): Promise<void> {
  const all = [...FREE, ...sql.flatMap((text) => text.split(";"))];
  const statements = all.map((text) => ({ sql: text, args: [] }));
  await gate.project.ledger.commit({ statements, events: [] });
}

test("an unchanged chain verifies, and the answer has its head and checkpoints", async () => {
  const gate = await gateWith(5);
  const { head } = gate.project.ledger;
  expect(await gate.project.audit.verify()).toEqual({
    ok: true,
    project_id: "test",
    events: 5,
    checkpoints: 1,
    head,
    problem: null,
  });
});

test("an empty chain verifies", async () => {
  const gate = await createTestGate();
  expect(await gate.project.audit.verify())
    .toMatchObject({ ok: true, events: 0, head: null, problem: null });
  expect(await gate.project.audit.checkpoint()).toMatchObject({ seq: 0, hash: "0".repeat(64) });
});

test.each([
  ["a deleted event", "DELETE FROM audit WHERE seq = 3", 3],
  ["a deleted first event", "DELETE FROM audit WHERE seq = 1", 1],
  ["a deleted last event", "DELETE FROM audit WHERE seq = 5", 5],
  ["all events deleted", "DELETE FROM audit", 1],
  ["another time", "UPDATE audit SET at = '2026-01-01T00:00:00.001Z' WHERE seq = 2", 2],
  ["another actor", `UPDATE audit SET actor = '{"id":"x","kind":"agent"}' WHERE seq = 2`, 2],
  ["no session", "UPDATE audit SET session_id = NULL WHERE seq = 2", 2],
  ["another project", "UPDATE audit SET project_id = 'x' WHERE seq = 4", 4],
  ["an extra blank in the JSON", "UPDATE audit SET data = data || ' ' WHERE seq = 2", 2],
  ["invalid JSON", "UPDATE audit SET data = '{' WHERE seq = 2", 2],
  ["two swapped events", SWAP, 4],
  [
    "another hash of a checkpoint",
    "UPDATE checkpoints SET hash = substr(hash, 2) || substr(hash, 1, 1)",
    5,
  ],
  ["another number of a checkpoint", "UPDATE checkpoints SET seq = 4", 4],
  ["another time of a checkpoint", "UPDATE checkpoints SET at = '2027-01-01T00:00:00.000Z'", 5],
  ["another key of a checkpoint", "UPDATE checkpoints SET public_key = 'AAAA'", 5],
])("verify() finds the change and names the event: %s", async (_name, sql, seq) => {
  const gate = await gateWith(5);
  await tamper(gate, sql);
  expect(await gate.project.audit.verify()).toMatchObject({ ok: false, problem: { seq } });
});

test("verify() finds each of 1,000 single-byte edits in any column", async () => {
  const gate = await gateWith(6);
  const columns = ["at", "session_id", "type", "actor", "data", "prev_hash", "hash"];
  const rows = await gate.project.ledger.all("SELECT * FROM audit ORDER BY seq");
  // Otherwise an edit that lasts for a moment could get into a derived table.
  await gate.project.ledger.catchUp();
  await tamper(gate);
  // The test needs no durability, only speed.
  await gate.project.ledger.all("PRAGMA synchronous = OFF");
  let edits = 0;
  for (let n = 0; n < 1000; n++) {
    const row = rows[n % rows.length]!;
    const column = columns[n % columns.length]!;
    const text = String(row[column]);
    const at = (n * 31) % text.length;
    const other = text[at] === "x" ? "y" : "x";
    const change = (value: string) => ({
      sql: `UPDATE audit SET ${column} = ? WHERE seq = ?`,
      args: [value, row.seq ?? null],
    });
    const edited = text.slice(0, at) + other + text.slice(at + 1);
    await gate.project.ledger.commit({ statements: [change(edited)], events: [] });
    const { ok } = await gate.project.audit.verify();
    await gate.project.ledger.commit({ statements: [change(text)], events: [] });
    if (!ok) edits += 1;
  }
  expect(edits).toBe(1000);
  expect(await gate.project.audit.verify()).toMatchObject({ ok: true });
});

test("every start reports a chain that was cut while the daemon was down", async () => {
  const gate = await gateWith(3);
  await tamper(gate, "DELETE FROM audit WHERE seq = 3", "DELETE FROM checkpoints");
  for (let start = 0; start < 2; start++) {
    await gate.reopen();
    const status = await gate.daemon.status();
    expect(status.healthy).toBe(false);
    expect(status.problems).toEqual([expect.stringContaining("event 3")]);
    expect(await gate.project.audit.verify())
      .toMatchObject({ ok: false, problem: { seq: 3 } });
    // Later events do not repair the chain.
    await gate.project.sessions.open({}, agent);
    expect(await gate.project.audit.verify()).toMatchObject({ ok: false });
  }
});

test("verify() rejects a rewritten chain whose checkpoint has another key", async () => {
  const gate = await gateWith(2);
  const kept = await gate.project.ledger.all("SELECT * FROM checkpoints");
  const other = await gateWith(2);
  await tamper(
    other,
    "DELETE FROM checkpoints",
    `INSERT INTO checkpoints VALUES (${
      Object.values(kept[0]!).map((value) => typeof value === "number" ? value : `'${value}'`)
        .join(", ")
    })`,
  );
  expect(await other.project.audit.verify()).toMatchObject({
    ok: false,
    problem: { what: expect.stringContaining("another key") },
  });
});

test("a second checkpoint of the same head is the first one; only the owner can read the key", async () => {
  const gate = await gateWith(2);
  const first = await gate.project.audit.checkpoint();
  expect(await gate.project.audit.checkpoint()).toEqual(first);
  const key = join(gate.home, "keys", "checkpoints.pem");
  expect(statSync(key).mode & 0o777).toBe(0o600);
  expect(readFileSync(key, "utf8")).toContain("PRIVATE KEY");
  rmSync(key);
  await gate.reopen();
  expect(await gate.project.audit.verify()).toMatchObject({
    ok: false,
    problem: { what: expect.stringContaining("another key") },
  });
});

/** A gate with a written file, a finished command, a held one, a blocked one and rollbacks. */
async function gateWithActions() {
  const gate = await createTestGate({
    policies: { defaultEffect: "allow", blockedPaths: [".env"], askCommands: ["make *"] },
  });
  const { actions, sessions } = gate.project;
  const { id: session_id } = await sessions.open({}, agent);
  const submit = async (tool: string, input: Record<string, unknown>) => {
    const { action } = await actions.submit({ session_id, tool, input } as SubmitInput, agent);
    return action;
  };
  const written = await submit("write_file", { path: "a.txt", content: "a" });
  const run = await submit("run_command", { command: "echo x" });
  const claim = await actions.claim(run.id, {}, agent);
  const outcome = { claim_id: claim.claim_id, exit_code: 3, output: "", truncated: false };
  await actions.result(run.id, { ...outcome, duration_ms: 1 }, agent);
  const rejected = await submit("run_command", { command: "make evil" });
  await actions.reject(rejected.id, {}, reviewer);
  const held = await submit("run_command", { command: "make build" });
  const blocked = await submit("write_file", { path: ".env", content: "x" });
  const undone = await submit("write_file", { path: "b.txt", content: "b" });
  await actions.rollback(undone.id, {}, reviewer);
  return { gate, ids: { written, run, rejected, held, blocked, undone } };
}

const ROW_ATTACKS: [name: string, sql: string, what: string][] = [
  ["a status", "UPDATE actions SET status = 'approved' WHERE status = 'pending'", "status"],
  ["a block", "UPDATE actions SET status = 'approved' WHERE status = 'blocked'", "status"],
  [
    "an execution",
    "UPDATE actions SET execution = 'succeeded' WHERE tool = 'run_command' AND exit_code = 3",
    "execution",
  ],
  ["an exit code", "UPDATE actions SET exit_code = 0 WHERE exit_code = 3", "exit_code"],
  ["who decided", "UPDATE actions SET decided_by = 'alice' WHERE path = 'a.txt'", "decided_by"],
  ["a digest", "UPDATE actions SET digest = 'x' WHERE status = 'pending'", "digest"],
  [
    "a rollback that is denied",
    "UPDATE actions SET status = 'approved' WHERE status = 'rolled_back'",
    "status",
  ],
  ["a deleted action", "DELETE FROM actions WHERE path = '.env'", "missing"],
];

test.each(ROW_ATTACKS)(
  "verify() finds a changed row of the actions: %s",
  async (_name, sql, what) => {
    const { gate } = await gateWithActions();
    expect(await gate.project.audit.verify()).toMatchObject({ ok: true, problem: null });
    await tamper(gate, sql);
    const response = await gate.request("GET", "/api/audit/verify", undefined, "reviewer");
    expect(await response.json()).toMatchObject({
      ok: false,
      problem: { what: expect.stringContaining(what) },
    });
  },
);

test("verify() accepts a rollback of a rollback", async () => {
  const { gate, ids } = await gateWithActions();
  const { actions } = gate.project;
  const rollbacks = (await actions.list({ tool: "rollback" })).items;
  let last = rollbacks[0]!.id;
  for (let n = 0; n < 3; n++) {
    await actions.rollback(last, {}, reviewer);
    expect(await gate.project.audit.verify()).toMatchObject({ ok: true, problem: null });
    last = (await actions.list({ tool: "rollback" })).items[0]!.id;
  }
  const other = "CASE status WHEN 'approved' THEN 'rolled_back' ELSE 'approved' END";
  await tamper(gate, `UPDATE actions SET status = ${other} WHERE id = '${ids.undone.id}'`);
  expect(await gate.project.audit.verify())
    .toMatchObject({ ok: false, problem: { what: expect.stringContaining(ids.undone.id) } });
});

test("verify() accepts an action that an older rollback undoes again", async () => {
  const { gate, ids } = await gateWithActions();
  const { actions, audit } = gate.project;
  const newest = async () => (await actions.list({ tool: "rollback" })).items[0]!.id;
  const undo = async (id: string) => {
    await actions.rollback(id, {}, reviewer);
    return await newest();
  };
  const redone = await undo(await newest());
  await undo(await undo(ids.undone.id));
  expect(await actions.get(ids.undone.id)).toMatchObject({ status: "approved" });
  // Of two rollbacks that wrote the file again, the older one is undone.
  await undo(redone);
  expect(await actions.get(ids.undone.id)).toMatchObject({ status: "rolled_back" });
  expect(await audit.verify()).toMatchObject({ ok: true, problem: null });
});

test("forged rollbacks that undo each other in a circle end", async () => {
  const { project } = await createTestGate();
  const circle = ["a", "b", "a", "b"].map((action_id) => ({
    ...{ session_id: null, action_id, type: "action.rolled_back" as const },
    actor: { kind: "system" as const, id: "system" },
    data: { rollback: action_id === "a" ? "b" : "a" },
  }));
  await project.ledger.commit({ statements: [], events: circle });
  expect(await isRolledBack(project.ledger, "a")).toEqual(expect.any(Boolean));
  expect(await isRolledBack(project.ledger, "none")).toBe(false);
});

test.each([
  ["the time of the newest event", "UPDATE audit SET at = CAST(x'C328' AS TEXT) WHERE seq = 5"],
  ["a hash of a checkpoint", "UPDATE checkpoints SET hash = CAST(x'FF' AS TEXT)"],
  ["a signature", "UPDATE checkpoints SET signature = CAST(x'41FF' AS TEXT)"],
])("a text that is not UTF-8 ends no daemon: %s", async (_name, sql) => {
  const gate = await gateWith(5);
  await tamper(gate, sql);
  for (const route of ["state", "head?at=5", "checkpoint", "events"]) {
    const { status } = await gate.request("GET", `/api/audit/${route}`);
    expect([200, 503], route).toContain(status);
  }
  expect(await gate.project.audit.verify()).toMatchObject({ ok: false });
});
