import { describe, expect, test } from "vitest";
import type { Action } from "../../../server/actions/schema.ts";
import type { Scope } from "../../../server/auth/schema.ts";
import { createTestGate, testCaller, type TestGate } from "../../helpers.ts";

const policies = { defaultEffect: "allow" as const, askPaths: ["held/**"], blockedPaths: [".env"] };

async function ask(
  gate: TestGate,
  method: string,
  path: string,
  body?: unknown,
  scope: Scope = "reviewer",
) {
  const heard = gate.events.length;
  const response = await gate.request(method, `/api/actions${path}`, body, scope);
  const events = gate.events.slice(heard).map(({ topic, type }) => `${topic} ${type}`);
  return { status: response.status, body: await response.json(), events };
}

const write = (path: string) => ({ tool: "write_file", input: { path, content: "new" } });

async function heldOf(gate: TestGate): Promise<Action> {
  return (await ask(gate, "POST", "", write("held/a.txt"), "agent")).body;
}

const RUN = { tool: "run_command", input: { command: "echo hi" } };

test.each<[string, unknown, number, Record<string, unknown>, string[]]>([
  ["an allowed write", write("a.txt"), 201, { status: "approved", execution: "succeeded" }, [
    "action.submitted",
    "action.approved",
    "action.started",
    "action.finished",
  ]],
  ["a held write", write("held/a.txt"), 202, { status: "pending", result: null }, [
    "action.submitted",
  ]],
  ["a blocked write", write(".env"), 201, { status: "blocked", result: null }, [
    "action.submitted",
    "action.rejected",
  ]],
  ["a command", RUN, 201, { status: "approved", execution: "none", result: null }, [
    "action.submitted",
    "action.approved",
  ]],
  ["an unknown key", { ...RUN, x: 1 }, 400, { code: "invalid" }, []],
  ["a wrong type", { tool: 1, input: {} }, 400, { code: "invalid" }, []],
  ["no input", { tool: "write_file" }, 400, { code: "invalid" }, []],
  ["an unknown session", { ...RUN, session_id: "x" }, 404, { code: "not_found" }, []],
])("POST /api/actions: %s", async (_name, body, status, expected, types) => {
  const gate = await createTestGate({ policies });
  await gate.project.sessions.resolve(undefined, testCaller());
  const answer = await ask(gate, "POST", "", body, "agent");
  expect(answer).toMatchObject({ status, body: expected });
  const heard = answer.events.filter((event) => event.startsWith("actions "));
  expect(heard).toEqual(types.map((type) => `actions ${type}`));
  const events = (await gate.audit()).filter(({ action_id }) => action_id !== null);
  expect(events.map(({ type }) => type)).toEqual(types);
});

describe("the routes of one action", () => {
  test.each<[string, unknown, number, Record<string, unknown>]>([
    ["approve", {}, 200, { status: "approved", execution: "succeeded" }],
    ["approve", { expected_digest: "x" }, 412, { code: "digest_mismatch" }],
    ["approve", { reason: 1 }, 400, { code: "invalid" }],
    ["reject", { reason: "no" }, 200, { status: "rejected", reason: "no" }],
    ["approve-with-edit", { content: "mine" }, 200, { status: "approved", edited: true }],
    ["approve-with-edit", {}, 400, { code: "invalid" }],
    ["cancel", {}, 200, { status: "cancelled" }],
    ["rollback", {}, 409, { code: "conflict", current_status: "pending" }],
    ["rollback", { on_conflict: "x" }, 400, { code: "invalid" }],
    ["replay", {}, 409, { code: "conflict", current_status: "pending" }],
    ["claim", {}, 409, { code: "conflict" }],
    ["result", {}, 400, { code: "invalid" }],
    ["wait", { timeout_ms: 1 }, 200, { status: "pending", result: null }],
    ["wait", { timeout_ms: -1 }, 400, { code: "invalid" }],
  ])("POST …/%s %j is answered with %i", async (verb, body, status, expected) => {
    const gate = await createTestGate({ policies });
    const { id } = await heldOf(gate);
    expect(await ask(gate, "POST", `/${id}/${verb}`, body)).toMatchObject({
      status,
      body: expected,
    });
    const missing = await ask(gate, "POST", `/${crypto.randomUUID()}/${verb}`, body);
    expect([400, 404]).toContain(missing.status);
  });

  test("a second decision is refused with the action's current status", async () => {
    const gate = await createTestGate({ policies });
    const { id } = await heldOf(gate);
    await ask(gate, "POST", `/${id}/reject`, {});
    expect(await ask(gate, "POST", `/${id}/approve`, {})).toMatchObject({
      status: 409,
      body: {
        code: "conflict",
        current_status: "rejected",
        detail: `Cannot approve action "${id}": it is rejected`,
      },
      events: [],
    });
  });
});

test("GET returns the list, the count, one action in full and its status", async () => {
  const gate = await createTestGate({ policies, files: { "held/a.txt": "old\n" } });
  const held = await heldOf(gate);
  expect((await ask(gate, "GET", "")).body).toMatchObject({
    items: [{ id: held.id, status: "pending" }],
    next_cursor: null,
  });
  expect((await ask(gate, "GET", "?count=true")).body).toEqual({ count: 1 });
  expect((await ask(gate, "GET", `/${held.id}`)).body).toMatchObject({
    id: held.id,
    before: { text: "old\n", bytes: 4 },
    after: { text: "new", bytes: 3 },
    proposed: null,
    output: null,
    timeline: [{ type: "action.submitted", actor: { kind: "agent" } }],
  });
  expect((await ask(gate, "GET", `/${held.id}/status`)).body).toEqual({
    id: held.id,
    status: "pending",
    execution: "none",
    decided_by: null,
    reason: null,
    approvals: { need: 1, have: 0 },
  });
  for (const query of ["?limit=0", "?limit=501", "?status=x", "?cursor=-1", "?limit=1&limit=2"]) {
    expect((await ask(gate, "GET", query)).status).toBe(400);
  }
});
