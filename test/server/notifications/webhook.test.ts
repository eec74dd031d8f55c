import { join } from "node:path";
import { writeFileSync } from "node:fs";
import { Webhook } from "standardwebhooks";
import { describe, expect, test } from "vitest";
import { openNotifyStage, openReceiver, SECRET, webhook } from "./stage.ts";

test("a held action arrives signed, as another implementation of Standard Webhooks checks", async () => {
  const stage = await openNotifyStage();
  const server = await openReceiver();
  await stage.configure([webhook(stage, server)]);
  const action = await stage.hold({ path: "src/a.txt" });
  await stage.gate.daemon.notifications.settle();
  expect(server.received).toHaveLength(1);
  const { headers, text } = server.received[0]!;
  const payload = new Webhook(SECRET).verify(text, headers);
  expect(payload).toMatchObject({
    type: "action.held",
    timestamp: expect.stringMatching(/^\d{4}-/),
    data: {
      project_id: "test",
      action_id: action.id,
      risk: "low",
      link: `http://localhost:47999/approvals?project=test&id=${action.id}`,
      written: { agent: expect.any(String), tool: "write_file", path: "src/a.txt" },
    },
  });
  expect(() => new Webhook(SECRET).verify(`${text} `, headers)).toThrow();
  const other = `whsec_${Buffer.alloc(32, 8).toString("base64")}`;
  expect(() => new Webhook(other).verify(text, headers)).toThrow();
  expect(await stage.deliveries("sent")).toMatchObject([{
    id: headers["webhook-id"],
    receiver_id: "hook",
    action_id: action.id,
    attempts: 1,
    error: null,
  }]);
});

test("two secrets in one file both sign, so that a receiver can change to the new one", async () => {
  const stage = await openNotifyStage();
  const server = await openReceiver();
  const other = `whsec_${Buffer.alloc(24, 9).toString("base64")}`;
  const secret_file = stage.secretFile("two.key", `${SECRET} ${other}\n`);
  await stage.configure([{ id: "hook", kind: "webhook", url: server.url, secret_file }]);
  await stage.hold();
  await stage.gate.daemon.notifications.settle();
  const { headers, text } = server.received[0]!;
  for (const secret of [SECRET, other]) new Webhook(secret).verify(text, headers);
});

test("nothing leaves before a person accepts the receivers, and a changed file sends nothing", async () => {
  const stage = await openNotifyStage();
  const [server, thief] = [await openReceiver(), await openReceiver()];
  await stage.configure([webhook(stage, server)], { accept: false });
  await stage.hold();
  await stage.gate.daemon.notifications.settle();
  expect(server.received).toEqual([]);
  expect((await stage.ask("GET", "/api/notifications")).body).toEqual({
    receivers: [],
    waits: true,
  });
  await stage.configure([webhook(stage, server)]);
  // A program of the user adds a receiver of its own and takes the other one away.
  await stage.configure([{ ...webhook(stage, thief), id: "thief" }], { accept: false });
  await stage.hold();
  await stage.gate.daemon.notifications.settle();
  expect([server.received.length, thief.received.length]).toEqual([1, 0]);
  const { body } = await stage.ask("GET", "/api/notifications");
  expect(body).toMatchObject({ receivers: [{ id: "hook", problem: null }], waits: true });
});

/** The time of a first pause with `random` 0.5: exactly the pause. */
const PAUSES = [5_000, 30_000];

describe("a receiver that does not take a message", () => {
  test.each([
    ["answers 500", 500, {}, "it answers with status 500"],
    ["answers 404", 404, {}, "it answers with status 404"],
    ["redirects", 307, { location: "/other" }, "it redirects to another address"],
  ])("%s: retried, then listed, then sent by a person", async (_, status, headers, error) => {
    const stage = await openNotifyStage({ pauses_ms: PAUSES });
    const server = await openReceiver();
    server.answer = (_, response) => response.writeHead(status, headers).end("secret answer");
    await stage.configure([webhook(stage, server)]);
    const action = await stage.hold();
    const { notifications } = stage.gate.daemon;
    await notifications.settle();
    expect(await stage.deliveries("waiting")).toMatchObject([{ attempts: 1 }]);
    await notifications.settle();
    expect(server.received).toHaveLength(1);
    for (const pause of PAUSES) {
      stage.gate.clock.advance(pause - 1);
      await notifications.settle();
      const before = server.received.length;
      stage.gate.clock.advance(1);
      await notifications.settle();
      expect(server.received).toHaveLength(before + 1);
    }
    expect(new Set(server.received.map(({ path }) => path))).toEqual(new Set(["/hook"]));
    const ids = new Set(server.received.map(({ headers }) => headers["webhook-id"]));
    expect(ids.size).toBe(1);
    const dead = await stage.deliveries("dead");
    expect(dead).toMatchObject([{ attempts: 3, action_id: action.id, receiver_id: "hook" }]);
    expect(dead[0]!.error).toContain(error);
    expect(JSON.stringify(dead)).not.toContain("secret answer");
    const { body: { problems } } = await stage.ask("GET", "/api/daemon/status");
    expect(problems).toContain('receiver "hook" missed 1 message; look: gate notify failed');
    server.answer = (_, response) => response.writeHead(200).end();
    const retried = await stage.ask("POST", "/api/notifications/retry", { id: dead[0]!.id });
    expect(retried).toEqual({ status: 200, body: { retried: 1 } });
    await notifications.settle();
    expect(await stage.deliveries("sent")).toMatchObject([{ id: dead[0]!.id }]);
    expect(server.received).toHaveLength(4);
  });

  test("gone for good (410): given up at once", async () => {
    const stage = await openNotifyStage();
    const server = await openReceiver();
    server.answer = (_, response) => response.writeHead(410).end();
    await stage.configure([webhook(stage, server)]);
    await stage.hold();
    await stage.gate.daemon.notifications.settle();
    expect(await stage.deliveries("dead")).toMatchObject([{ attempts: 1 }]);
  });

  test("asks to come later: not before", async () => {
    const stage = await openNotifyStage();
    const server = await openReceiver();
    server.answer = (_, response) => response.writeHead(429, { "retry-after": "600" }).end();
    await stage.configure([webhook(stage, server)]);
    await stage.hold();
    await stage.gate.daemon.notifications.settle();
    const [waiting] = await stage.deliveries("waiting");
    expect(Date.parse(waiting!.next_at!) - stage.gate.clock.now).toBe(600_000);
  });

  test("is down: retried, and the next message does not wait for another receiver", async () => {
    const stage = await openNotifyStage();
    const [server, down] = [await openReceiver(), await openReceiver()];
    await down.close();
    await stage.configure([webhook(stage, down, { id: "down" }), webhook(stage, server)]);
    await stage.hold();
    await stage.gate.daemon.notifications.settle();
    expect(server.received).toHaveLength(1);
    const [waiting] = await stage.deliveries("waiting");
    expect(waiting).toMatchObject({ receiver_id: "down", attempts: 1 });
    expect(waiting!.error).toMatch(/^it cannot be reached/);
  });

  test("never answers: the daemon decides, the others get theirs, and it times out", async () => {
    const stage = await openNotifyStage({ timeout_ms: 300 });
    const [server, slow] = [await openReceiver(), await openReceiver()];
    slow.answer = () => {};
    await stage.configure([webhook(stage, slow, { id: "slow" }), webhook(stage, server)]);
    const [first, second] = [await stage.hold(), await stage.hold()];
    await Promise.all([slow.until(1), server.until(2)]);
    // The message is still under way while people decide.
    for (const { id } of [first, second]) {
      const approved = await stage.ask("POST", `/api/actions/${id}/approve`, {});
      expect(approved.body).toMatchObject({ status: "approved", execution: "succeeded" });
    }
    await stage.gate.daemon.notifications.settle();
    expect(await stage.deliveries("waiting")).toMatchObject([
      { receiver_id: "slow", error: "it did not answer in time" },
      { receiver_id: "slow", error: "it did not answer in time" },
    ]);
  });
});

test("a restart loses no message and sends none twice", async () => {
  const stage = await openNotifyStage();
  const server = await openReceiver();
  server.answer = (_, response) => response.writeHead(503).end();
  await stage.configure([webhook(stage, server)]);
  await stage.hold();
  await stage.gate.daemon.notifications.settle();
  const [waiting] = await stage.deliveries("waiting");
  server.answer = (_, response) => response.writeHead(200).end();
  await stage.gate.reopen();
  stage.gate.clock.advance(5_000);
  await stage.gate.daemon.notifications.settle();
  expect(server.received.map(({ headers }) => headers["webhook-id"]))
    .toEqual([waiting!.id, waiting!.id]);
  await stage.gate.reopen();
  await stage.gate.daemon.notifications.settle();
  expect(server.received).toHaveLength(2);
  expect(await stage.deliveries("sent")).toHaveLength(1);
});

test("events that were committed while nobody made news of them are not lost", async () => {
  const stage = await openNotifyStage();
  const server = await openReceiver();
  await stage.configure([webhook(stage, server)]);
  // The daemon ends before its notifications see the event.
  await stage.gate.daemon.notifications.close();
  const action = await stage.hold();
  await stage.gate.reopen();
  await stage.gate.daemon.notifications.settle();
  expect(server.received.map(({ json }) => json.data.action_id)).toEqual([action.id]);
});

test("the queue of a receiver is bounded, and so is the list of given-up messages", async () => {
  const stage = await openNotifyStage({ waiting: 2, kept: 3 });
  const server = await openReceiver();
  server.answer = (_, response) => response.writeHead(503).end();
  await stage.configure([webhook(stage, server)]);
  for (let at = 0; at < 8; at++) {
    await stage.hold();
    await stage.gate.daemon.notifications.settle();
  }
  expect(await stage.deliveries("waiting")).toHaveLength(2);
  const dead = await stage.deliveries("dead");
  expect(dead).toHaveLength(3);
  expect(dead[0]!.error).toBe("2 messages wait for the receiver already");
});

describe("what a receiver gets", () => {
  test.each([
    ["on", { on: ["block"] }, 0],
    ["projects", { projects: ["other"] }, 0],
    ["min_risk", { min_risk: "critical" }, 0],
    ["members", { members: ["ann"] }, 0],
    ["all of them", { on: ["held"], projects: ["test"], min_risk: "low" }, 1],
  ])("%s", async (_, filter, count) => {
    const stage = await openNotifyStage();
    const server = await openReceiver();
    await stage.configure([webhook(stage, server, filter)]);
    await stage.hold();
    await stage.gate.daemon.notifications.settle();
    expect(server.received).toHaveLength(count);
  });

  test("no secrets, no hidden characters, no long texts", async () => {
    const stage = await openNotifyStage();
    const server = await openReceiver();
    await stage.configure([webhook(stage, server)]);
    const token = `ghp_${"a1B2".repeat(9)}`;
    await stage.run(`curl -H "Authorization: Bearer ${token}" x\u202e\u200b${"y".repeat(5000)}`);
    await stage.gate.daemon.notifications.settle();
    const { command } = server.received[0]!.json.data.written;
    expect(command).not.toContain(token);
    expect(command).toContain("[redacted]");
    expect(command).toContain("[U+202E][U+200B]");
    expect(command.length).toBeLessThan(400);
  });

  test("details: false leaves out what the agent wrote", async () => {
    const stage = await openNotifyStage();
    const server = await openReceiver();
    await stage.configure([webhook(stage, server, { details: false })]);
    await stage.hold({ path: "agent/wrote.txt" });
    await stage.gate.daemon.notifications.settle();
    expect(server.received[0]!.json.data.written).toEqual({});
    expect(server.received[0]!.text).not.toContain("wrote.txt");
  });

  test("an action that a person decided first is no news", async () => {
    const stage = await openNotifyStage();
    const server = await openReceiver();
    await stage.configure([webhook(stage, server)]);
    // Both events come before the notifications see the first.
    await stage.gate.daemon.notifications.close();
    const { id } = await stage.hold();
    await stage.ask("POST", `/api/actions/${id}/reject`, {});
    await stage.gate.reopen();
    await stage.gate.daemon.notifications.settle();
    expect(server.received).toEqual([]);
  });
});

describe("a secret that cannot be used", () => {
  test.each([
    ["others may read it", (path: string) => path, SECRET, 0o644, "others may read or own"],
    ["it is missing", (path: string) => `${path}.gone`, SECRET, 0o600, "cannot be read: ENOENT"],
    ["it has another form", (path: string) => path, "password", 0o600, "no secret of the form"],
    ["it is too short", (path: string) => path, "whsec_c2hvcnQ=", 0o600, "no secret of the form"],
    ["it is empty", (path: string) => path, "\n", 0o600, "is empty"],
  ])("%s: told, and nothing is sent", async (_, place, text, mode, error) => {
    const stage = await openNotifyStage();
    const server = await openReceiver();
    const secret_file = place(stage.secretFile("a.key", text, mode));
    await stage.configure([{ id: "hook", kind: "webhook", url: server.url, secret_file }]);
    const { body } = await stage.ask("GET", "/api/notifications");
    expect(body.receivers[0].problem).toContain(error);
    const tested = await stage.ask("POST", "/api/notifications/test", { receiver_id: "hook" });
    expect(tested.body.items).toMatchObject([{ ok: false, error: expect.stringContaining(error) }]);
    expect(server.received).toEqual([]);
    expect(JSON.stringify([body, tested.body])).not.toContain(text.trim() || "nothing");
  });
});

test("a test arrives, and says what went wrong", async () => {
  const stage = await openNotifyStage();
  const server = await openReceiver();
  const none = await stage.ask("POST", "/api/notifications/test", {});
  expect(none).toMatchObject({ status: 409, body: { code: "conflict" } });
  await stage.configure([webhook(stage, server)]);
  const ok = await stage.ask("POST", "/api/notifications/test", {});
  expect(ok.body.items).toMatchObject([{ receiver_id: "hook", ok: true, error: null }]);
  expect(new Webhook(SECRET).verify(server.received[0]!.text, server.received[0]!.headers))
    .toMatchObject({ type: "test" });
  server.answer = (_, response) => response.writeHead(401).end();
  const failed = await stage.ask("POST", "/api/notifications/test", {});
  expect(failed.body.items).toMatchObject([{ ok: false, error: "it answers with status 401" }]);
});

describe("bad input", () => {
  test.each([
    ["POST", "/api/notifications/test", { receiver_id: "none" }, 404],
    ["POST", "/api/notifications/test", { receiver: "x" }, 400],
    ["POST", "/api/notifications/retry", {}, 400],
    ["POST", "/api/notifications/retry", { id: "x", all: true }, 400],
    ["POST", "/api/notifications/retry", { id: "msg_none" }, 404],
    ["POST", "/api/notifications/retry", { receiver_id: "\ud800" }, 404],
    ["DELETE", "/api/notifications/deliveries/none", undefined, 404],
    ["GET", "/api/notifications/deliveries?state=lost", undefined, 400],
    ["GET", "/api/notifications/deliveries?limit=0", undefined, 400],
  ])("%s %s %j: %i", async (method, path, body, status) => {
    const stage = await openNotifyStage();
    expect((await stage.ask(method, path, body)).status).toBe(status);
  });

  test.each([
    [{ kind: "webhook", url: "http://example.com", secret_env: "A" }, "must begin with https://"],
    [{ kind: "webhook", url: "https://u:p@example.com", secret_env: "A" }, "hold a password"],
    [{ kind: "webhook", url: "file:///etc/passwd", secret_env: "A" }, "must begin with https://"],
    [{ kind: "webhook", url: "https://example.com" }, "secret_env"],
    [{ kind: "slack", url: "https://hooks.slack.com/x" }, "url"],
    [{ kind: "slack", url_file: "relative" }, "expected an absolute path"],
    [{ kind: "email", smtp: { host: "a b" }, from: "a@b.co" }, "host"],
    [{ kind: "email", smtp: { host: "mail.co", security: "none" }, from: "a@b.co" }, "none"],
    [{ kind: "email", smtp: { host: "mail.co", user: "a" }, from: "a@b.co" }, "password_env"],
    [{ kind: "email", smtp: { host: "mail.co" }, from: "a@b.co\nBcc: x@y.co" }, "e-mail address"],
    [{ kind: "pigeon" }, "kind"],
  ])("the receiver %j is refused: its place and cause are named", async (receiver, part) => {
    const stage = await openNotifyStage();
    const path = join(stage.gate.home, "config.json");
    const receivers = [{ id: "x", ...receiver }];
    writeFileSync(path, JSON.stringify({ notifications: { receivers } }));
    const { body: { error } } = await stage.ask("GET", "/api/config");
    expect(error).toContain("config.json:1:");
    expect(error).toContain(part);
  });

  test("an agent and a viewer can neither test, retry nor discard", async () => {
    const { gate } = await openNotifyStage();
    for (const scope of ["agent", "viewer"] as const) {
      for (
        const [method, path, body] of [
          ["POST", "/api/notifications/test", {}],
          ["POST", "/api/notifications/retry", { all: true }],
          ["DELETE", "/api/notifications/deliveries/x", undefined],
        ] as const
      ) expect((await gate.request(method, path, body, scope)).status).toBe(403);
    }
  });
});

test("a message can be discarded", async () => {
  const stage = await openNotifyStage();
  const server = await openReceiver();
  server.answer = (_, response) => response.writeHead(410).end();
  await stage.configure([webhook(stage, server)]);
  await stage.hold();
  await stage.gate.daemon.notifications.settle();
  const [dead] = await stage.deliveries("dead");
  expect((await stage.ask("DELETE", `/api/notifications/deliveries/${dead!.id}`)).status).toBe(200);
  expect(await stage.deliveries("dead")).toEqual([]);
});
