import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { ServerDatabase } from "../../../server/db/server_database.ts";
import type { TestGate } from "../../helpers.ts";
import { ask, contentOf, stageTwoMachines, type TwoMachines, write } from "./two_machines.ts";

const soon = { timeout: 10_000, interval: 20 };

/** The types of the events of an action, as the other machine sees them. */
async function typesOf(gate: TestGate, id: string): Promise<string[]> {
  const events = await gate.audit();
  return events.filter(({ action_id }) => action_id === id).map(({ type }) => type);
}

async function verifies(gates: readonly TestGate[]) {
  for (const gate of gates) {
    expect((await ask(gate, "GET", "/api/audit/verify")).body).toMatchObject({ ok: true });
  }
}

async function onServer({ server: { url } }: TwoMachines, sql: string) {
  const database = await ServerDatabase.open({ url, token: null });
  onTestFinished(() => database.close());
  await database.batch([{ sql, args: [] }]);
  return database;
}

test("a rollback and a replay from another machine are done on the one with the files, once", async () => {
  const { first, second } = await stageTwoMachines();
  writeFileSync(join(second.root, "a.txt"), "own");
  const { body: done } = await write(first, "a.txt");
  const path = `/api/actions/${done.id}/rollback`;
  const dry = await ask(second, "POST", path, { dry_run: true });
  expect(dry).toMatchObject({ status: 200, body: { dry_run: true, outcome: "restored" } });
  expect(contentOf(first, "a.txt")).toBe("a.txt");

  const both = await Promise.all([ask(second, "POST", path, {}), ask(second, "POST", path, {})]);
  expect(both.map(({ status }) => status).toSorted()).toEqual([200, 409]);
  expect(both.find(({ status }) => status === 200)!.body).toMatchObject({
    action: { id: done.id, status: "rolled_back" },
    rollback: { tool: "rollback", execution: "succeeded" },
  });
  expect(contentOf(first, "a.txt")).toBe(null);
  expect(await typesOf(second, done.id)).toEqual([
    ...["action.submitted", "action.approved", "action.started", "action.finished"],
    "action.rolled_back",
  ]);

  const replayed = await ask(second, "POST", `/api/actions/${done.id}/replay`, {});
  expect(replayed).toMatchObject({ status: 201, body: { execution: "succeeded" } });
  expect(contentOf(first, "a.txt")).toBe("a.txt");
  const session = `/api/sessions/${done.session_id}/rollback`;
  expect(await ask(second, "POST", session, {})).toMatchObject({
    status: 200,
    body: { session_id: done.session_id, rollback_state: "full" },
  });
  expect(contentOf(first, "a.txt")).toBe(null);
  expect(contentOf(second, "a.txt")).toBe("own");
  await verifies([first, second]);
});

test("an edit and a remembered approval from another machine hold on the one of the agent", async () => {
  const { first, second } = await stageTwoMachines();
  const { body: held } = await write(first, "held/a.txt");
  const edited = await ask(second, "POST", `/api/actions/${held.id}/approve-with-edit`, {
    content: "edited",
    expected_digest: held.digest,
  });
  expect(edited).toMatchObject({ status: 200, body: { edited: true, execution: "succeeded" } });
  expect(contentOf(first, "held/a.txt")).toBe("edited");

  const { body: next } = await write(first, "held/b.txt");
  const remember = { scope: "session", ttl_seconds: 600, max_uses: 5, pattern: "held/*" };
  const approved = await ask(second, "POST", `/api/actions/${next.id}/approve`, { remember });
  expect(approved).toMatchObject({ status: 200, body: { execution: "succeeded" } });
  expect((await write(first, "held/c.txt")).body).toMatchObject({ execution: "succeeded" });
  expect(await typesOf(second, held.id)).toEqual([
    ...["action.submitted", "action.edited", "action.approved"],
    ...["action.started", "action.finished"],
  ]);
  expect(contentOf(second, "held/a.txt")).toBe(null);
  await verifies([first, second]);
});

test("a refusal of the other machine names it, and tells no content of its files", async () => {
  const { first, second } = await stageTwoMachines();
  const { body: done } = await write(first, "a.txt");
  writeFileSync(join(first.root, "a.txt"), "changed by hand");
  const path = `/api/actions/${done.id}/rollback`;
  const refused = await ask(second, "POST", path, {});
  expect(refused).toMatchObject({
    status: 409,
    body: { code: "conflict", conflicts: [{ path: "a.txt", texts: null }] },
  });
  expect(refused.body.machine).toBe(
    (await ask(second, "GET", `/api/actions/${done.id}`)).body.machine,
  );
  expect(JSON.stringify(refused.body)).not.toContain("by hand");
  const forced = await ask(second, "POST", path, { on_conflict: "force" });
  expect(forced).toMatchObject({ status: 200, body: { outcome: "forced" } });
  expect(contentOf(first, "a.txt")).toBe(null);
});

test("a request for a machine that is away is refused and never done later", async () => {
  const staged = await stageTwoMachines();
  const { first, second } = staged;
  const { body: done } = await write(first, "a.txt");
  await first.daemon.close();
  const path = `/api/actions/${done.id}/rollback`;
  const away = await ask(second, "POST", path, {});
  expect([away.status, away.body.detail]).toEqual([
    409,
    expect.stringMatching(
      /its agent works on another machine, .*; it is not connected; start gate/,
    ),
  ]);
  // It seems to be there, and takes nothing.
  const database = await onServer(staged, "UPDATE machines SET seen_at = unixepoch() + 3600");
  const silent = await ask(second, "POST", path, {});
  expect([silent.status, silent.body.detail]).toEqual([
    409,
    expect.stringMatching(/does not answer, and nothing was done; start gate there/),
  ]);
  expect(await database.all("SELECT * FROM passed_requests")).toEqual([]);
  await first.open();
  await write(first, "b.txt");
  expect(contentOf(first, "a.txt")).toBe("a.txt");
  expect((await ask(second, "GET", `/api/actions/${done.id}`)).body.status).toBe("approved");
  // A release that takes no requests tells no schema.
  await database.batch([{ sql: "UPDATE machines SET opened_by = 'x' WHERE is_first", args: [] }]);
  const older = await ask(second, "POST", path, {});
  expect([older.status, older.body.detail]).toEqual([
    409,
    expect.stringContaining("do it there, or update gate there"),
  ]);
});

test("a request that another program wrote is checked like any other", async () => {
  const staged = await stageTwoMachines();
  const { first, second } = staged;
  const { body: done } = await write(first, "a.txt");
  const { machine } = first.project.ledger;
  const requests = [
    {
      verb: "rollback",
      id: done.id,
      input: { on_conflict: "ruin" },
      member_id: "reviewer",
      proof: null,
    },
    { verb: "end_session", id: done.session_id, input: {}, member_id: "reviewer", proof: null },
    { verb: "rollback", id: done.id, input: {}, member_id: "stranger", proof: null, via: "none" },
    "no object",
  ];
  for (const request of requests) {
    expect(await second.project.ledger.pass(machine!.id, request)).toEqual({
      answer: { refused: expect.objectContaining({ code: "internal" }) },
    });
  }
  expect(contentOf(first, "a.txt")).toBe("a.txt");
  await vi.waitFor(
    () => expect(first.logs.filter(({ level }) => level === "error")).toHaveLength(4),
    soon,
  );
});

test("a request and an answer that are no JSON are refused, and both daemons go on", async () => {
  const staged = await stageTwoMachines();
  const { first, second } = staged;
  const { id } = first.project.ledger.machine!;
  const database = await onServer(
    staged,
    `INSERT INTO passed_requests (id, machine, request, state, asked_at)
      VALUES ('broken', '${id}', '{"verb":', 'asked', unixepoch())`,
  );
  await vi.waitFor(async () => {
    const [row] = await database.all("SELECT answer FROM passed_requests WHERE id = 'broken'");
    expect(JSON.parse(String(row?.answer))).toMatchObject({ refused: { code: "internal" } });
  }, soon);

  for (const answer of ["{", "null", `{"body": 1}`, `{"refused": {}}`]) {
    const passed = second.project.ledger.pass("nobody", {});
    await vi.waitFor(async () => {
      const [rows] = await database.batch([{
        sql: `UPDATE passed_requests SET state = 'answered', answer = ?
          WHERE machine = 'nobody' RETURNING id`,
        args: [answer],
      }]);
      expect(rows).toHaveLength(1);
    }, soon);
    expect(await passed).toEqual({ failed: "not answered" });
  }
  expect((await write(first, "a.txt")).body).toMatchObject({ execution: "succeeded" });
});

test("an answer of another machine that is none of the route is refused", async () => {
  const staged = await stageTwoMachines();
  const { first, second } = staged;
  const { body: done } = await write(first, "a.txt");
  const { body: other } = await write(first, "b.txt");
  const { body: held } = await write(first, "held/a.txt");
  await second.project.ledger.sync();
  const action = (await ask(second, "GET", `/api/actions/${done.id}`)).body;
  // Another program answers in the place of the machine.
  await first.daemon.close();
  const database = await onServer(staged, "UPDATE machines SET seen_at = unixepoch() + 3600");
  const answering = async (path: string, input: object, answer: object) => {
    const asked = ask(second, "POST", path, input);
    await vi.waitFor(async () => {
      const [rows] = await database.batch([{
        sql: "UPDATE passed_requests SET state = 'answered', answer = ? RETURNING id",
        args: [JSON.stringify(answer)],
      }]);
      expect(rows).toHaveLength(1);
    }, soon);
    return await asked;
  };
  const rolled = { rollback: null, outcome: "restored", changes: [], dry_run: false };
  const rows: [string, object, object][] = [
    [`/api/actions/${done.id}/rollback`, {}, {}],
    [`/api/actions/${done.id}/rollback`, {}, { ...rolled, action: { ...action, id: other.id } }],
    [`/api/actions/${done.id}/rollback`, {}, { ...rolled, action: { ...action, seq: "<b>" } }],
    [`/api/actions/${done.id}/replay`, {}, { action: null, result: {} }],
    [`/api/actions/${held.id}/approve-with-edit`, { content: "x" }, action],
    [`/api/actions/${held.id}/approve-with-edit`, { content: "x" }, { status: "approved" }],
    [`/api/sessions/${done.session_id}/rollback`, {}, { session_id: done.session_id }],
  ];
  // This action is one as the route returns it, so only its other id was wrong above.
  const right = { ...rolled, action };
  const path = `/api/actions/${done.id}/rollback`;
  expect(await answering(path, {}, { body: right })).toMatchObject({ status: 200, body: rolled });
  for (const [path, input, body] of rows) {
    expect(await answering(path, input, { body }), path).toMatchObject({
      status: 409,
      body: { code: "conflict", detail: expect.stringContaining("its answer cannot be read") },
    });
  }
  for (const code of ["constructor", "unauthorized", "misdirected", ""]) {
    const refused = { code, message: "no", fields: { status: 200, code: "ok" } };
    expect(await answering(path, {}, { refused }), code).toMatchObject({
      status: 500,
      body: { code: "internal", status: 500 },
    });
  }
});
