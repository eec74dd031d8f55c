import { expect, test } from "vitest";
import { openNotifyStage, openReceiver, type ReceiverServer, webhook } from "./stage.ts";

const HOUR = 3_600_000;

/** A route that asks ann, then escalates to ben. */
async function openRouted() {
  const stage = await openNotifyStage();
  const server = await openReceiver();
  const people = [
    { name: "Ann", email: "ann@example.com", channels: [{ kind: "slack", address: "U0ANN" }] },
    { name: "Ben", channels: [{ kind: "slack", address: "<!channel>" }] },
  ];
  for (const one of people) {
    expect((await stage.ask("POST", "/api/team/members", one)).status).toBe(201);
  }
  const route = {
    name: "All",
    approvers: { members: ["ann"] },
    escalate_after_seconds: 1800,
    escalate_to: ["ben"],
    expires_after_seconds: 3600,
  };
  expect((await stage.ask("POST", "/api/approval-routes", route)).status).toBe(201);
  return { stage, server };
}

const typesOf = ({ received }: ReceiverServer) => received.map(({ json }) => json.type);

test("reminders, the escalation and the end of a route arrive once, also over restarts", async () => {
  const { stage, server } = await openRouted();
  await stage.configure([webhook(stage, server)]);
  const { id } = await stage.hold();
  await stage.gate.daemon.notifications.settle();
  for (const part of [0.5, 0.01, 0.39, 0.01, 0.09]) {
    stage.gate.clock.advance(part * HOUR);
    await stage.gate.reopen();
    await stage.gate.project.actions.expireDue();
    await stage.gate.daemon.notifications.settle();
    await stage.gate.reopen();
    await stage.gate.daemon.notifications.settle();
  }
  expect(typesOf(server)).toEqual([
    "action.held",
    "reminder.sent",
    "escalation.raised",
    "reminder.sent",
    "action.expired",
  ]);
  expect(server.received.map(({ json }) => json.data.asked)).toEqual([
    ["ann"],
    ["ann", "ben"],
    ["ben"],
    ["ann", "ben"],
    [],
  ]);
  expect(new Set(server.received.map(({ json }) => json.data.action_id))).toEqual(new Set([id]));
});

test("a receiver for some members gets only the news that ask them", async () => {
  const { stage, server } = await openRouted();
  await stage.configure([webhook(stage, server, { members: ["ben"] })]);
  await stage.hold();
  await stage.gate.daemon.notifications.settle();
  stage.gate.clock.advance(0.5 * HOUR);
  await stage.gate.project.actions.expireDue();
  await stage.gate.daemon.notifications.settle();
  expect(typesOf(server)).toContain("escalation.raised");
  expect(typesOf(server)).not.toContain("action.held");
});

test("a chat mentions the asked member, and nobody by an address of another form", async () => {
  const { stage, server } = await openRouted();
  const url_file = stage.secretFile("slack.url", `${server.url}/slack\n`);
  await stage.configure([{ id: "chat", kind: "slack", url_file }]);
  await stage.hold();
  await stage.gate.daemon.notifications.settle();
  expect(server.received[0]!.text).toContain("<@U0ANN>");
  stage.gate.clock.advance(0.5 * HOUR);
  await stage.gate.project.actions.expireDue();
  await stage.gate.daemon.notifications.settle();
  expect(server.received.length).toBeGreaterThan(1);
  for (const { text } of server.received) expect(text).not.toContain("!channel");
});

test("a block of a session is news", async () => {
  const stage = await openNotifyStage();
  const server = await openReceiver();
  await stage.configure([webhook(stage, server)]);
  const { session_id, id } = await stage.hold();
  await stage.gate.project.blocks.add({
    session_id,
    action_id: id,
    agent: null,
    reason: "40 denials in 600 s",
    seconds: 600,
  });
  await stage.gate.daemon.notifications.settle();
  expect(server.received.at(-1)!.json).toMatchObject({
    type: "block.added",
    data: { session_id, written: { reason: "40 denials in 600 s" } },
  });
});
