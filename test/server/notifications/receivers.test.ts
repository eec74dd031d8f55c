import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { TeamStage } from "../proof/team_stage.ts";
import { openNotifyStage, openReceiver, webhook } from "./stage.ts";

const PATH = "/api/notifications/receivers";
const DESK = { id: "desk", kind: "desktop" };

test("a receiver is added, changed and removed; each change is in force once it is accepted", async () => {
  const stage = await openNotifyStage({ pauses_ms: [] });
  const server = await openReceiver();
  const file = join(stage.gate.home, "config.json");
  writeFileSync(file, readFileSync(file, "utf8").replace("{", "{\n  // kept\n"));
  const { mode } = statSync(file);
  const accept = async (change: { path: string; after_sha256: string; number: number }) => {
    const { path, after_sha256: sha256, number } = change;
    const answer = await stage.ask("POST", "/api/config/accept", { path, sha256, number });
    expect(answer.status).toBe(200);
  };
  const hook = webhook(stage, server);
  const added = await stage.ask("POST", PATH, hook);
  expect(added).toMatchObject({ status: 201, body: { receiver: hook, change: { waiting: true } } });
  expect((await stage.ask("GET", "/api/notifications")).body).toMatchObject({
    receivers: [],
    waits: true,
  });
  // A second change on top of one that waits would be accepted with it.
  const second = await stage.ask("POST", PATH, DESK);
  expect([second.status, second.body.detail]).toEqual([
    409,
    expect.stringContaining("an earlier change of config.json waits"),
  ]);
  await accept(added.body.change);
  expect((await stage.ask("POST", "/api/notifications/test", {})).body.items)
    .toMatchObject([{ receiver_id: "hook", ok: true }]);
  expect(server.received).toHaveLength(1);
  const changed = await stage.ask("PUT", `${PATH}/hook`, { ...hook, min_risk: "high" });
  expect(changed).toMatchObject({ status: 200, body: { receiver: { min_risk: "high" } } });
  await accept(changed.body.change);
  expect((await stage.ask("GET", PATH)).body.items).toMatchObject([{ min_risk: "high" }]);
  const removed = await stage.ask("DELETE", `${PATH}/hook`);
  expect(removed).toMatchObject({ status: 200, body: { change: { waiting: true } } });
  // Who silences gate needs the person too.
  expect((await stage.ask("GET", "/api/notifications")).body.receivers).toHaveLength(1);
  await accept(removed.body.change);
  expect((await stage.ask("GET", "/api/notifications")).body.receivers).toEqual([]);
  expect(readFileSync(file, "utf8")).toContain("// kept");
  expect(statSync(file).mode).toBe(mode);
});

test("with a passphrase nothing leaves the machine before the person signs", async () => {
  const stage = await TeamStage.open({ ann: "reviewer" });
  const added = await stage.ask("reviewer", "POST", PATH, DESK);
  expect(added.status).toBe(201);
  const { path, after_sha256: sha256, number } = added.body.change;
  const body = { path, sha256, number };
  const refused = await stage.ask("reviewer", "POST", "/api/config/accept", body);
  expect([refused.status, refused.body.code]).toEqual([403, "proof_required"]);
  expect((await stage.ask("reviewer", "GET", "/api/notifications")).body.receivers).toEqual([]);
  expect((await stage.sign("reviewer", "POST", "/api/config/accept", body)).status).toBe(200);
  expect((await stage.ask("reviewer", "GET", "/api/notifications")).body.receivers)
    .toMatchObject([{ id: "desk" }]);
});

const HOOK = { id: "x", kind: "webhook", url: "https://example.com", secret_env: "HOOK_KEY" };

test.each([
  ["POST", PATH, null, 400],
  ["POST", PATH, {}, 400],
  ["POST", PATH, [], 400],
  ["POST", PATH, { id: "x", kind: "pigeon" }, 400],
  ["POST", PATH, { id: "../x", kind: "desktop" }, 400],
  ["POST", PATH, { id: "x".repeat(100_000), kind: "desktop" }, 400],
  ["POST", PATH, { id: "x", kind: "webhook", url: "http://example.com", secret_env: "A" }, 400],
  ["POST", PATH, { id: "x", kind: "webhook", url: "https://example.com" }, 400],
  ["POST", PATH, { id: "x", kind: "slack" }, 400],
  ["POST", PATH, { id: "x", kind: "slack", url_env: "https://hooks.example.com/T0/secret" }, 400],
  ["POST", PATH, { ...HOOK, secret_env: "whsec_c2VjcmV0c2VjcmV0c2VjcmV0" }, 400],
  ["POST", PATH, { ...HOOK, secret_file: "relative.key", secret_env: undefined }, 400],
  ["POST", PATH, { ...HOOK, url: "https://user:secret@example.com/" }, 400],
  ["POST", PATH, { ...HOOK, url: "file:///etc/passwd" }, 400],
  ["POST", PATH, { ...HOOK, url: "http://169.254.169.254/latest" }, 400],
  ["POST", PATH, { ...HOOK, url: "http://127.0.0.1.example.com/" }, 400],
  ["POST", PATH, { ...HOOK, url: "https://" }, 400],
  ["POST", PATH, { ...HOOK, url: `https://example.com/${"x".repeat(3_000)}` }, 400],
  ["POST", PATH, { id: "x", kind: "email", smtp: { host: "a b" }, from: "nobody" }, 400],
  ["POST", PATH, { id: "x", kind: "desktop", extra: 1 }, 400],
  ["PUT", `${PATH}/none`, { id: "none", kind: "desktop" }, 404],
  ["PUT", `${PATH}/none`, { id: "other", kind: "desktop" }, 400],
  ["PUT", `${PATH}/none`, null, 400],
  ["DELETE", `${PATH}/none`, undefined, 404],
  ["DELETE", `${PATH}/${"x".repeat(3_000)}`, undefined, 404],
  ["DELETE", `${PATH}/%00`, undefined, 404],
])("%s %s %j is refused", async (method, path, body, status) => {
  const { ask, gate } = await openNotifyStage();
  const before = readFileSync(join(gate.home, "config.json"), "utf8");
  const answer = await ask(method, path, body);
  expect([answer.status, answer.body.detail]).toEqual([status, expect.stringMatching(/^Cannot /)]);
  // A secret that was given in place of its name stands nowhere.
  expect(JSON.stringify([answer.body, gate.logs])).not.toMatch(/secret@|T0\/secret|c2VjcmV0/);
  expect(readFileSync(join(gate.home, "config.json"), "utf8")).toBe(before);
});

test("a broken config.json stays as it is", async () => {
  const { ask, gate } = await openNotifyStage();
  const file = join(gate.home, "config.json");
  writeFileSync(file, "{ broken");
  const answer = await ask("POST", PATH, DESK);
  expect([answer.status, readFileSync(file, "utf8")]).toEqual([409, "{ broken"]);
});

test("what another program writes at the same time is not accepted with it", async () => {
  const { ask, gate } = await openNotifyStage();
  const { configs } = gate.daemon;
  const file = join(gate.home, "config.json");
  const before = readFileSync(file, "utf8");
  const evil = () =>
    writeFileSync(file, JSON.stringify({ ...JSON.parse(before), approvals: { proof: "token" } }));
  for (const turn of [1, 2]) {
    writeFileSync(file, before);
    await ask("GET", "/api/config");
    const config = configs.of("machine", []);
    const view = config.view.bind(config);
    let calls = 0;
    const spied = vi.spyOn(config, "view").mockImplementation(async () => {
      calls += 1;
      // First after the check, then after the write.
      if (turn === 2 && calls === 2) evil();
      const found = await view();
      if (turn === 1 && calls === 1) evil();
      return found;
    });
    const answer = await ask("POST", PATH, DESK);
    spied.mockRestore();
    expect([turn, answer.status, answer.body.detail]).toEqual([
      turn,
      409,
      expect.stringContaining("another program changed config.json"),
    ]);
  }
});

test("of many changes at once none is lost", async () => {
  const { ask } = await openNotifyStage();
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, i) => ask("POST", PATH, { id: `d${i}`, kind: "desktop" })),
  );
  const added = answers.filter(({ status }) => status === 201).map(({ body }) => body.receiver.id);
  expect(answers.every(({ status }) => status === 201 || status === 409)).toBe(true);
  const { items } = (await ask("GET", PATH)).body;
  expect(items.map(({ id }: { id: string }) => id).sort()).toEqual(added.sort());
});

test("an agent changes no receiver", async () => {
  const { gate } = await openNotifyStage();
  for (const scope of ["agent", "viewer"] as const) {
    expect((await gate.request("POST", PATH, DESK, scope)).status).toBe(403);
  }
});
