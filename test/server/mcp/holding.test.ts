import { expect, test } from "vitest";
import { type Agent, connectAgent, firstHeld, jumping, until } from "./agent.ts";
import type { Answer } from "./sdk_client.ts";

const HELD = { path: "held.txt", content: "x" };

test("a held call gets its answer as soon as a person has approved", async () => {
  const agent = await connectAgent();
  const answer = agent.call("write_file", HELD);
  const id = await firstHeld(agent);
  agent.daemon.decide(id, { status: "approved", decided_by: "ada" });
  expect(await answer).toMatchObject({
    isError: false,
    body: { action_id: id, status: "approved", execution: "succeeded" },
  });
  await agent.close();
});

test("a rejection carries the reviewer's reason", async () => {
  const agent = await connectAgent();
  const answer = agent.call("write_file", HELD);
  const id = await firstHeld(agent);
  agent.daemon.decide(id, { status: "rejected", decided_by: "ada", reason: "not before Monday" });
  const { isError, body } = await answer;
  expect(isError).toBe(true);
  expect(body).toMatchObject({ status: "rejected", reason: "not before Monday" });
  expect(body.message).toBe("Rejected by ada, nothing was done: not before Monday");
  await agent.close();
});

test("nobody decides in time: pending with the next step, and await_action goes on", async () => {
  const agent = await connectAgent();
  const { isError, body } = await agent.call("write_file", { ...HELD, wait_ms: 30 });
  expect(isError).toBe(false);
  expect(body).toMatchObject({
    status: "pending",
    execution: "none",
    next_tool: "await_action",
    retry_after_s: expect.any(Number),
  });
  const action_id = body.action_id as string;
  const again = { action_id, wait_ms: 30 };
  expect((await agent.call("await_action", again)).body.status).toBe("pending");
  expect((await agent.call("get_action", { action_id })).body.status).toBe("pending");
  agent.daemon.decide(action_id, { status: "approved" });
  for (const _ of [1, 2]) {
    expect((await agent.call("await_action", { action_id })).body).toMatchObject({
      status: "approved",
      execution: "succeeded",
    });
  }
  await agent.close();
});

test("an edited action says so and brings what was done instead", async () => {
  const agent = await connectAgent();
  const answer = agent.call("write_file", HELD);
  const id = await firstHeld(agent);
  agent.daemon.decide(id, { status: "approved", edited: true });
  agent.daemon.decide(id, { result: { content: "y", diff: "-x\n+y" } });
  const { body } = await answer;
  expect(body).toMatchObject({ edited: true, content: "y", diff: "-x\n+y" });
  expect(body.message).toContain("a reviewer changed it");
  await agent.close();
});

test("a waiting call shows signs of life, each with a greater number", async () => {
  const agent = await connectAgent({ timing: { first_ms: 10, every_ms: 10 } });
  const seen: { progress: number; message?: string }[] = [];
  const answer = agent.client.callTool({ name: "write_file", arguments: HELD }, undefined, {
    onprogress: (sign) => seen.push(sign),
  });
  const id = await firstHeld(agent);
  await until(() => seen.length >= 3, "three signs of life");
  agent.daemon.decide(id, { status: "approved" });
  await answer;
  expect(seen[0]!.message).toBe("Held for a person's decision: write_file held.txt");
  expect(seen.slice(1).every(({ progress }, i) => progress > seen[i]!.progress)).toBe(true);
  const count = seen.length;
  await agent.call("project_info");
  expect(seen.length).toBe(count);
  await agent.close();
});

test("a cancelled call decides nothing, and the next one finds the action as it was", async () => {
  const agent = await connectAgent();
  const giveUp = new AbortController();
  const call = agent.client.callTool({ name: "write_file", arguments: HELD }, undefined, {
    signal: giveUp.signal,
  });
  const id = await firstHeld(agent);
  giveUp.abort("the user pressed escape");
  await expect(call).rejects.toThrow();
  expect(agent.daemon.actions.get(id)!.status).toBe("pending");
  // opencode cancels every call that has been answered.
  await agent.client.notification({
    method: "notifications/cancelled",
    params: { requestId: 1, reason: "AbortError" },
  });
  agent.daemon.decide(id, { status: "approved" });
  expect((await agent.call("await_action", { action_id: id })).body.status).toBe("approved");
  expect(agent.daemon.calls.some((call) => /cancel|reject/.test(call))).toBe(false);
  await agent.close();
});

test("a restart of the daemon in the middle of a hold is not noticed", async () => {
  const agent = await connectAgent();
  const answer = agent.call("write_file", HELD);
  const id = await firstHeld(agent);
  const { connects } = agent.daemon;
  agent.daemon.away = true;
  await until(() => agent.daemon.connects > connects + 1, "it looks for the daemon");
  agent.daemon.decide(id, { status: "approved" });
  agent.daemon.away = false;
  expect((await answer).body).toMatchObject({ action_id: id, execution: "succeeded" });
  expect(agent.daemon.actions.size).toBe(1);
  await agent.close();
});

test("a daemon that stays away in the middle of a hold leaves the id with the agent", async () => {
  const agent = await connectAgent();
  const answer = agent.call("write_file", { ...HELD, wait_ms: 400 });
  await firstHeld(agent);
  agent.daemon.away = true;
  expect(await answer).toMatchObject({ isError: false, body: { status: "pending" } });
  await agent.close();
});

test("a daemon that never comes back to answer leaves open what was done", async () => {
  const agent = await connectAgent({ now: jumping() });
  await agent.call("project_info");
  agent.daemon.away = true;
  const { isError, body } = await agent.call("write_file", { path: "a", content: "x" });
  expect(isError).toBe(true);
  expect(body.message).toContain("Whether anything was done is not known");
  await agent.close();
});

test.each([
  ["write_file", { path: "./a", content: "x" }],
  ["edit_file", { path: "a", edits: [{ old_text: "a", new_text: "b" }] }],
  ["move_file", { from: "a", to: "b" }],
  ["run_command", { command: "true" }],
  ["rollback_action", { action_id: "x" }],
])("an answer to %s that was lost on the way does not make a second action", async (name, args) => {
  const agent = await connectAgent();
  const earlier = await agent.call(name, args);
  const answer = agent.call(name, args);
  await until(() => countOf(agent.daemon, "POST /api/actions") === 2, "it is submitted");
  agent.daemon.away = true;
  await until(() => agent.daemon.actions.size === 2, "it is recorded");
  agent.daemon.away = false;
  const { body } = await answer;
  expect(body.action_id).toBe([...agent.daemon.actions.keys()][1]);
  expect(body.action_id).not.toBe(earlier.body.action_id);
  expect(body.execution).toBe("succeeded");
  expect(agent.daemon.actions.size).toBe(2);
  await agent.close();
});

test("a submission that never arrived is sent again", async () => {
  const agent = await connectAgent();
  await agent.call("write_file", { path: "a", content: "x" });
  agent.daemon.away = true;
  const answer = agent.call("write_file", { path: "a", content: "x" });
  await until(() => countOf(agent.daemon, "POST /api/actions") === 2, "it is tried");
  agent.daemon.away = false;
  expect((await answer).body.execution).toBe("succeeded");
  expect(agent.daemon.actions.size).toBe(2);
  await agent.close();
});

test("twenty calls at once are all answered, each with its own action", async () => {
  const agent = await connectAgent();
  const calls = Array.from(
    { length: 20 },
    (_, i) => agent.call("write_file", { path: `held-${i}`, content: `${i}` }),
  );
  await until(() => agent.daemon.actions.size === 20, "all are held");
  for (const id of agent.daemon.actions.keys()) agent.daemon.decide(id, { status: "approved" });
  const answers = await Promise.all(calls);
  expect(new Set(answers.map(({ body }) => body.action_id)).size).toBe(20);
  answers.forEach(({ body }, i) => expect(body.path).toBe(`held-${i}`));
  await agent.close();
});

test("more calls at once than could be held are refused, and none is lost", async () => {
  const agent = await connectAgent();
  const early: Answer[] = [];
  const calls = Array.from({ length: 60 }, async (_, i) => {
    const answer = await agent.call("write_file", { path: `held-${i}`, content: "" });
    early.push(answer);
    return answer;
  });
  await until(() => early.length === 12 && agent.daemon.actions.size === 48, "12 are refused");
  for (const { isError, body } of early) {
    expect({ isError, code: body.error.code }).toEqual({ isError: true, code: "rate_limited" });
  }
  for (const id of agent.daemon.actions.keys()) agent.daemon.decide(id, { status: "approved" });
  const answers = await Promise.all(calls);
  expect(answers.filter(({ isError }) => !isError).length).toBe(48);
  await agent.close();
});

test("a content of ten megabytes arrives whole", async () => {
  const agent = await connectAgent();
  const content = "0123456789abcdef\n".repeat(600_000);
  expect((await agent.call("write_file", { path: "big", content })).body.status).toBe("approved");
  await agent.close();
});

function countOf({ calls }: Agent["daemon"], call: string): number {
  return calls.filter((made) => made === call).length;
}
