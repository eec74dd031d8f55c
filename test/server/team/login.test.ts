import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readToken } from "../../../server/auth/tokens.ts";
import { type Gate, startGate } from "../../../server/start.ts";

/** A real server in front of everything: the guard decides which scope a page key has. */
let base: string;
let gate: Gate;

beforeAll(async () => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "gate-team-")));
  const home = join(base, "home");
  mkdirSync(home, { mode: 0o700 });
  writeFileSync(join(home, "config.json"), JSON.stringify({ approvals: { proof: "token" } }));
  mkdirSync(join(base, "project"));
  const config = { id: "web", policies: { defaultEffect: "ask" } };
  writeFileSync(join(base, "project", "gate.config.json"), JSON.stringify(config));
  const environment = { home, now: Date.now, id: () => crypto.randomUUID(), log: () => {} };
  gate = await startGate({ environment, port: 0 });
  await owner("POST", "/api/hub/projects", { root: join(base, "project") });
});

afterAll(async () => {
  await gate.close();
  rmSync(base, { recursive: true });
});

async function send(method: string, path: string, body: unknown, headers: HeadersInit) {
  const answer = await fetch(`http://127.0.0.1:${gate.port}${path}`, {
    method,
    redirect: "manual",
    headers: { ...headers, ...body !== undefined && { "content-type": "application/json" } },
    ...body !== undefined && { body: JSON.stringify(body) },
  });
  const text = await answer.text();
  // deno-lint-ignore no-explicit-any
  return { status: answer.status, answer, body: (text === "" ? null : JSON.parse(text)) as any };
}

async function owner(method: string, path: string, body?: unknown) {
  const token = await readToken(join(base, "home"), "reviewer");
  return await send(method, path, body, { authorization: `Bearer ${token}` });
}

async function logIn(id: string): Promise<Record<string, string>> {
  const { body } = await owner("POST", `/api/team/members/${id}/login-code`, {});
  const { status, answer } = await send("GET", body.path, undefined, {});
  expect(status).toBe(303);
  return { "x-gate-key": /#key=(.+)$/.exec(answer.headers.get("location")!)![1]! };
}

async function hold(path: string): Promise<string> {
  const token = await readToken(join(base, "home"), "agent");
  const { body } = await send(
    "POST",
    "/api/actions?project=web",
    { tool: "write_file", input: { path, content: "x" } },
    { authorization: `Bearer ${token}` },
  );
  return body.id;
}

test("a member logs in with a link of their own, once; what they decide carries them", async () => {
  await owner("POST", "/api/team/members", { name: "Ann" });
  const { body: code } = await owner("POST", "/api/team/members/ann/login-code", {});
  const first = await send("GET", code.path, undefined, {});
  expect(first.status).toBe(303);
  const again = await fetch(`http://127.0.0.1:${gate.port}${code.path}`, { redirect: "manual" });
  expect(again.status).toBe(401);
  const ann = await logIn("ann");
  expect((await send("GET", "/api/team/whoami", undefined, ann)).body)
    .toEqual({ id: "ann", name: "Ann", role: "reviewer", is_member: true });
  const id = await hold("a.txt");
  const approved = await send("POST", `/api/actions/${id}/approve`, {}, ann);
  expect(approved.body).toMatchObject({ status: "approved", decided_by: "ann" });
  const edited = await hold("b.txt");
  const edit = await send(
    "POST",
    `/api/actions/${edited}/approve-with-edit`,
    { content: "y" },
    ann,
  );
  expect(edit.body).toMatchObject({ status: "approved", decided_by: "ann", edited: true });
  const { body: undone } = await send("POST", `/api/actions/${id}/rollback`, {}, ann);
  expect(undone).toMatchObject({ action: { status: "rolled_back" } });
  expect(undone.rollback.decided_by).toBe("ann");
  const kept = await hold("c.txt");
  const remember = { scope: "project", ttl_seconds: 60, max_uses: 2 };
  await send("POST", `/api/actions/${kept}/approve`, { remember }, ann);
  const { body: grants } = await send("GET", "/api/grants?project=web", undefined, ann);
  expect(grants.items).toMatchObject([{ given_by: "ann" }]);
  const { body: { events } } = await owner("GET", "/api/audit/export?format=json&project=web");
  const byAnn = events.filter(({ actor }: { actor: { id: string } }) => actor.id === "ann")
    .map(({ type }: { type: string }) => type);
  for (const type of ["action.approved", "action.edited", "grant.added"]) {
    expect(byAnn).toContain(type);
  }
});

test("a viewer's link reads and decides nothing", async () => {
  await owner("POST", "/api/team/members", { name: "Vic", role: "viewer" });
  const vic = await logIn("vic");
  const id = await hold("v.txt");
  expect((await send("GET", "/api/team/members", undefined, vic)).status).toBe(200);
  expect((await send("POST", `/api/actions/${id}/approve`, {}, vic)).status).toBe(403);
  expect((await send("POST", `/api/actions/${id}/reject`, {}, vic)).status).toBe(403);
  expect((await send("POST", "/api/auth/login-code", {}, vic)).status).toBe(403);
  await owner("PATCH", "/api/team/members/vic", { role: "reviewer" });
  expect((await send("POST", `/api/actions/${id}/approve`, {}, vic)).body)
    .toMatchObject({ status: "approved", decided_by: "vic" });
});

test("a removed member's logins end at once", async () => {
  await owner("POST", "/api/team/members", { name: "Rem" });
  const rem = await logIn("rem");
  expect((await send("GET", "/api/team/whoami", undefined, rem)).status).toBe(200);
  await owner("DELETE", "/api/team/members/rem");
  expect((await send("GET", "/api/team/whoami", undefined, rem)).status).toBe(401);
  const id = await hold("r.txt");
  expect((await send("POST", `/api/actions/${id}/approve`, {}, rem)).status).toBe(401);
});

test("an agent reads no team and gets no link", async () => {
  const token = await readToken(join(base, "home"), "agent");
  const agent = { authorization: `Bearer ${token}` };
  for (
    const [method, path] of [
      ["GET", "/api/team/members"],
      ["POST", "/api/team/members"],
      ["POST", "/api/team/members/ann/login-code"],
      ["DELETE", "/api/team/members/ann"],
    ] as const
  ) {
    expect((await send(method, path, method === "POST" ? {} : undefined, agent)).status).toBe(403);
  }
});
