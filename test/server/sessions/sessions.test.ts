import { expect, test } from "vitest";
import { createTestGate, testCaller } from "../../helpers.ts";

const agent = testCaller("agent");

test("a session that is opened stands in the list, the chain and the events", async () => {
  const gate = await createTestGate();
  const { sessions } = gate.project;
  const session = await sessions.open({ agent: "codex", host: "codex", client: "x 1" }, agent);
  expect(session).toMatchObject({
    project_id: "test",
    root: gate.root,
    agent: "codex",
    host: "codex",
    client: "x 1",
    ended_at: null,
    action_count: 0,
    pending_count: 0,
    rollback_state: "none",
  });
  expect(await sessions.list({})).toEqual({ items: [session], next_cursor: null });
  expect(await gate.audit()).toMatchObject([
    { seq: 1, type: "session.started", session_id: session.id, actor: { kind: "agent" } },
  ]);
  expect(gate.events).toMatchObject([{ topic: "sessions", type: "session.started", cursor: 1 }]);
});
