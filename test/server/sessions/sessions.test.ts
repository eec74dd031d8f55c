import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Session } from "../../../server/sessions/schema.ts";
import { createTestGate, testCaller, type TestGate } from "../../helpers.ts";

const agent = testCaller("agent");

/** An action in the ledger, as `submit` would put it there. */
async function insertAction(
  gate: TestGate,
  session: Session,
  values: Record<string, string | number> = {},
): Promise<string> {
  const seq = gate.events.length + Math.floor(gate.clock.now % 1e9) + counter++;
  const row = {
    project_id: "test",
    id: gate.environment.id(),
    number: seq,
    seq,
    root: gate.root,
    session_id: session.id,
    agent: "a",
    tool: "write_file",
    status: "approved",
    execution: "succeeded",
    decision: "{}",
    risk: "{}",
    reversible: 1,
    digest: "",
    created_at: new Date(gate.clock.now).toISOString(),
    ...values,
  };
  const names = Object.keys(row);
  const sql = `INSERT INTO actions (${names.join(", ")}) VALUES (${names.map(() => "?").join()})`;
  await gate.project.ledger.commit({
    statements: [{ sql, args: Object.values(row) }],
    events: [],
  });
  return row.id;
}
let counter = 0;

const update = (gate: TestGate, id: string, set: string) =>
  gate.project.ledger.commit({
    statements: [{ sql: `UPDATE actions SET ${set} WHERE id = ?`, args: [id] }],
    events: [],
  });

test("a session that is opened stands in the list, the chain and the events", async () => {
  const gate = await createTestGate();
  const { sessions } = gate.project;
  const input = { agent: "codex", host: "codex", client: "x 1" };
  const { session_secret, ...session } = await sessions.open(input, agent);
  expect(session_secret).toMatch(/^[\w-]{43}$/);
  expect(session).toEqual({
    block_reason: null,
    home_project: null,
    branch: null,
    id: session.id,
    project_id: "test",
    root: gate.root,
    agent: "codex",
    host: "codex",
    client: "x 1",
    started_at: "2026-01-01T00:00:00.000Z",
    last_seen_at: "2026-01-01T00:00:00.000Z",
    ended_at: null,
    action_count: 0,
    pending_count: 0,
    rollback_state: "none",
  });
  const listed = { ...session, state: "open", first_action: null, outcomes: [] };
  expect(await sessions.list({})).toEqual({ items: [listed], next_cursor: null });
  expect(await gate.audit()).toMatchObject([
    { seq: 1, type: "session.started", session_id: session.id, actor: { kind: "agent" } },
  ]);
  expect(gate.events).toMatchObject([{ topic: "sessions", type: "session.started", cursor: 1 }]);
});

test("a listed session names its branch, its first action and what became of each", async () => {
  const gate = await createTestGate({
    policies: { defaultEffect: "ask", allowedPaths: ["free/**"], blockedPaths: [".env"] },
  });
  const { actions, sessions } = gate.project;
  mkdirSync(join(gate.root, ".git"));
  writeFileSync(join(gate.root, ".git", "HEAD"), "ref: refs/heads/fix/login\n");
  const { id } = await sessions.open({}, agent);
  const submit = async (path: string) =>
    (await actions.submit(
      { tool: "write_file", input: { path, content: "x" }, session_id: id },
      agent,
    )).action;
  await submit("free/a.ts");
  await submit(".env");
  const held = await submit("src/b.ts");
  await actions.approve(held.id, {}, testCaller("reviewer"));
  await submit("src/c.ts");
  expect(await sessions.show(id)).toMatchObject({
    branch: "fix/login",
    state: "open",
    first_action: { tool: "write_file", path: "free/a.ts", command: null },
    outcomes: ["allowed", "blocked", "approved", "held"],
  });
});

test("sessions are filtered by their state: open, idle or ended", async () => {
  const gate = await createTestGate();
  const { sessions } = gate.project;
  const [idle, ended] = [await sessions.open({}, agent), await sessions.open({}, agent)];
  await sessions.end(ended.id, agent);
  gate.clock.advance(16 * 60_000);
  const open = await sessions.open({}, agent);
  for (const [state, of] of [["open", open], ["idle", idle], ["ended", ended]] as const) {
    const { items } = await sessions.list({ state });
    expect(items.map(({ id }) => id), state).toEqual([of.id]);
    expect(items[0]!.state).toBe(state);
  }
  expect((await sessions.list({ state: "idle", agent: "nobody" })).items).toEqual([]);
});

test("200 sessions are paged newest first, none twice, none left out", async () => {
  const gate = await createTestGate();
  const { sessions } = gate.project;
  const opened: string[] = [];
  for (let n = 0; n < 200; n++) {
    opened.unshift((await sessions.open({ agent: n % 2 ? "odd" : "even" }, agent)).id);
  }
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await sessions.list({ limit: 70, cursor });
    expect(page.items.length).toBeLessThanOrEqual(70);
    seen.push(...page.items.map(({ id }) => id));
    cursor = page.next_cursor ?? undefined;
  } while (cursor);
  expect(seen).toEqual(opened);
  const odd = await sessions.list({ agent: "odd", limit: 500 });
  expect(odd.items.map(({ id }) => id)).toEqual(opened.filter((_, i) => i % 2 === 0));
  expect(odd.next_cursor).toBeNull();
});

test.each(["0", "-1", "1.5", "x", "9".repeat(16), "1 OR 1=1"])(
  "a cursor that no page gave is refused: %s",
  async (cursor) => {
    const gate = await createTestGate();
    const response = await gate.request(
      "GET",
      `/api/sessions?cursor=${encodeURIComponent(cursor)}`,
    );
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: "invalid" });
  },
);

test("of 20 ends at once one ends it; ending again changes nothing", async () => {
  const gate = await createTestGate();
  const { sessions } = gate.project;
  const { id } = await sessions.open({}, agent);
  gate.clock.advance(1000);
  await Promise.all(Array.from({ length: 20 }, () => sessions.end(id, agent)));
  const ended = await sessions.get(id);
  expect(ended.ended_at).toBe("2026-01-01T00:00:01.000Z");
  gate.clock.advance(1000);
  expect(await sessions.end(id, agent)).toEqual(ended);
  expect((await gate.audit()).map(({ type }) => type)).toEqual([
    "session.started",
    "session.ended",
  ]);
});

test("a caller that names none has one session, until it is ended", async () => {
  const gate = await createTestGate();
  const { sessions } = gate.project;
  const many = await Promise.all(
    Array.from({ length: 20 }, () => sessions.resolve(undefined, agent)),
  );
  expect(new Set(many.map(({ id }) => id)).size).toBe(1);
  const other = await sessions.resolve(undefined, testCaller("agent", "other"));
  expect(other.id).not.toBe(many[0]!.id);
  await gate.reopen();
  expect((await gate.project.sessions.resolve(undefined, agent)).id).toBe(many[0]!.id);
  await gate.project.sessions.end(many[0]!.id, agent);
  expect((await gate.project.sessions.resolve(undefined, agent)).id).not.toBe(many[0]!.id);
});

test("an ended or unknown session takes no action", async () => {
  const { project: { sessions } } = await createTestGate();
  const { id } = await sessions.open({}, agent);
  expect((await sessions.resolve(id, agent)).id).toBe(id);
  await sessions.end(id, agent);
  await expect(sessions.resolve(id, agent)).rejects.toMatchObject({ code: "conflict" });
  await expect(sessions.resolve("nope", agent)).rejects.toMatchObject({ code: "not_found" });
});

test("counts follow every change of the actions, in the same batch", async () => {
  const gate = await createTestGate();
  const { sessions } = gate.project;
  const session = await sessions.open({}, agent);
  const held = await insertAction(gate, session, { status: "pending", execution: "none" });
  expect(await sessions.get(session.id)).toMatchObject({ action_count: 1, pending_count: 1 });
  await update(gate, held, "status = 'approved', execution = 'succeeded'");
  expect(await sessions.get(session.id)).toMatchObject({
    action_count: 1,
    pending_count: 0,
    rollback_state: "none",
  });
  const second = await insertAction(gate, session);
  await insertAction(gate, session, { tool: "read_file", reversible: 0 });
  await update(gate, held, "status = 'rolled_back'");
  expect((await sessions.get(session.id)).rollback_state).toBe("partial");
  await update(gate, second, "status = 'rolled_back'");
  expect((await sessions.get(session.id)).rollback_state).toBe("full");
  await update(gate, held, "status = 'approved'");
  expect(await sessions.status(session.id)).toMatchObject({
    session_id: session.id,
    rollback_state: "partial",
    actions: [
      { status: "approved", reversible: false },
      { action_id: second, status: "rolled_back", reversible: true },
      { action_id: held, status: "approved", reversible: true },
    ],
  });
});

test.each([
  ["POST", "/api/sessions", { agent: "a\0b\ud800", host: "\u202e" }, 201],
  ["POST", "/api/sessions", { agent: "" }, 400],
  ["POST", "/api/sessions", { agent: 1 }, 400],
  ["POST", "/api/sessions", { root: "/etc" }, 400],
  ["POST", "/api/sessions", { root: "x\0y" }, 400],
  ["POST", "/api/sessions", { unknown: 1 }, 400],
  ["GET", "/api/sessions/nope", undefined, 404],
  ["GET", "/api/sessions/a%00b", undefined, 404],
  ["GET", "/api/sessions/nope/status", undefined, 404],
  ["POST", "/api/sessions/nope/end", {}, 404],
  ["GET", "/api/sessions?limit=0", undefined, 400],
  ["GET", "/api/sessions?limit=501", undefined, 400],
  ["GET", "/api/sessions?agent=a%00b", undefined, 400],
  ["GET", "/api/sessions?limit=500", undefined, 200],
])("%s %s %j is answered %i", async (method, path, body, status) => {
  const gate = await createTestGate();
  const response = await gate.request(method, path, body);
  expect(response.status).toBe(status);
  if (status >= 400) expect(await response.json()).toMatchObject({ status });
});

test("a real write, its rollback and the undoing of that show in the session", async () => {
  const gate = await createTestGate({ policies: { defaultEffect: "allow" } });
  const { actions, sessions } = gate.project;
  const reviewer = testCaller("reviewer");
  const { action } = await actions.submit(
    { tool: "write_file", input: { path: "a.txt", content: "x" } },
    agent,
  );
  const state = async () => (await sessions.get(action.session_id)).rollback_state;
  expect(await state()).toBe("none");
  const { rollback } = await actions.rollback(action.id, {}, reviewer);
  expect(await state()).toBe("full");
  await actions.rollback(rollback!.id, {}, reviewer);
  expect(await state()).toBe("none");
  expect((await sessions.get(action.session_id)).action_count).toBe(3);
});
