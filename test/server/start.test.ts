import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readToken } from "../../server/auth/tokens.ts";
import type { Environment } from "../../server/environment.ts";
import { createSocketFetch } from "../../server/runtime/socket_fetch.ts";
import { type Gate, startGate } from "../../server/start.ts";

const PERSON = { id: "reviewer", scope: "reviewer" } as const;

let home: string;
let gate: Gate;

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), "gate-"));
  gate = await startGate({ environment: environmentOf(home), port: 0 });
});

afterAll(async () => {
  await gate.close();
  rmSync(home, { recursive: true });
});

function environmentOf(home: string): Environment {
  return { home, now: Date.now, id: () => crypto.randomUUID(), log: () => {} };
}

async function ask(path: string, scope?: "agent" | "viewer" | "reviewer", init?: RequestInit) {
  const token = scope ? await readToken(home, scope) : null;
  return await createSocketFetch(null)(`http://127.0.0.1:${gate.port}${path}`, {
    ...init,
    headers: { ...init?.headers, ...(token ? { authorization: `Bearer ${token}` } : {}) },
  });
}

test("says in daemon.json who serves", () => {
  const file = JSON.parse(readFileSync(join(home, "daemon.json"), "utf8"));
  expect(file).toMatchObject({ pid: process.pid, port: gate.port, socket: gate.socket_path });
  expect(Date.parse(file.started_at)).toBeGreaterThan(0);
});

test("answers without a credential that it is well, and no more", async () => {
  const health = await ask("/healthz");
  expect([health.status, await health.json()]).toEqual([
    200,
    { name: "gate", ok: true, version: expect.any(String) },
  ]);
  expect((await ask("/metrics")).status).toBe(401);
  expect((await ask("/api/daemon/status")).status).toBe(401);
  expect((await ask("/API/actions")).status).toBe(401);
});

test("each scope may what it may", async () => {
  expect((await ask("/api/daemon/status", "agent")).status).toBe(403);
  expect((await ask("/api/daemon/status", "viewer")).status).toBe(200);
  expect((await ask("/metrics", "viewer")).status).toBe(200);
  expect((await ask("/api/auth/login-code", "viewer", { method: "POST" })).status).toBe(403);
  expect((await ask("/api/openapi.json", "reviewer")).status).toBe(200);
});

test("a login code becomes a page key that the page can use", async () => {
  const made = await ask("/api/auth/login-code", "reviewer", { method: "POST" });
  const { path } = await made.json() as { path: string };
  const login = await ask(path);
  expect([login.status, login.headers.get("cache-control")]).toEqual([303, "no-store"]);
  const key = /^\/#key=([\w-]{43})$/.exec(login.headers.get("location")!)![1]!;
  const used = await ask(path);
  expect([used.status, await used.text()]).toEqual([
    401,
    expect.stringContaining("gate dashboard"),
  ]);
  const answer = await ask("/api/daemon/status", undefined, { headers: { "x-gate-key": key } });
  expect(answer.status).toBe(200);
});

test("a wrong method is told the right ones, an unknown route is not found", async () => {
  const wrong = await ask("/api/daemon/status", "reviewer", { method: "PUT" });
  expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "GET"]);
  expect(await wrong.json()).toMatchObject({ code: "method_not_allowed", status: 405 });
  const unknown = await ask("/api/nothing", "reviewer");
  expect([unknown.status, unknown.headers.get("content-type")]).toEqual([
    404,
    "application/problem+json",
  ]);
  expect((await ask("/api/daemon/status", "reviewer", { method: "HEAD" })).status).toBe(200);
});

test("a request sent twice with one Idempotency-Key takes effect once", async () => {
  const init = { method: "POST", headers: { "idempotency-key": "k" } };
  const first = await (await ask("/api/auth/login-code", "reviewer", init)).json();
  const again = await ask("/api/auth/login-code", "reviewer", init);
  expect(again.headers.get("idempotency-replayed")).toBe("true");
  expect(await again.json()).toEqual(first);
});

test("the docs list every route to whoever asks", async () => {
  const page = await (await ask("/docs")).text();
  expect(page).toContain("<code>POST /api/actions/{id}/approve</code>");
  expect(page).not.toMatch(/<style|<script|style=/);
});

test("readers are told when it stops, and the port is free at once", async () => {
  const other = mkdtempSync(join(tmpdir(), "gate-"));
  const second = await startGate({ environment: environmentOf(other), port: 0 });
  const token = await readToken(other, "viewer");
  const events = await createSocketFetch(second.socket_path)("http://localhost/api/events", {
    headers: { authorization: `Bearer ${token}` },
  });
  const text = events.text();
  await second.close();
  expect(await text).toMatch(/^id: 0\nretry: 500\n\nevent: bye\nretry: 500\ndata: {}\n\n$/);
  expect(existsSync(join(other, "daemon.json"))).toBe(false);
  const third = await startGate({ environment: environmentOf(other), port: second.port });
  await third.close();
  rmSync(other, { recursive: true });
});

test("who waits for a decision is answered when it stops", async () => {
  const other = mkdtempSync(join(tmpdir(), "gate-"));
  const root = mkdtempSync(join(tmpdir(), "gate-project-"));
  writeFileSync(join(root, "gate.config.json"), '{"id":"p","policies":{"defaultEffect":"ask"}}');
  const ending = await startGate({ environment: environmentOf(other), port: 0 });
  await ending.daemon.projects.register(root, PERSON);
  const token = await readToken(other, "agent");
  const fetch = createSocketFetch(ending.socket_path);
  const post = (path: string, body: unknown) =>
    fetch(`http://localhost/api/actions${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  const input = { path: "a.txt", content: "a" };
  const { id } = await (await post("", { tool: "write_file", input })).json();
  const waiting = post(`/${id}/wait`, { timeout_ms: 60_000 });
  const submitting = post("", {
    tool: "write_file",
    input: { ...input, path: "b.txt" },
    wait_ms: 60_000,
  });
  await expect.poll(async () => (await ending.daemon.listPending()).length).toBe(2);
  await ending.close();
  expect(await (await waiting).json()).toMatchObject({ id, status: "pending" });
  expect((await submitting).status).toBe(202);
  rmSync(other, { recursive: true });
  rmSync(root, { recursive: true });
});

test("a gate without credentials is refused on the usual port and home", async () => {
  const environment = environmentOf(join(home, "unused"));
  await expect(startGate({ environment, port: 47000, auth: "none" })).rejects.toThrow(/47000/);
  const open = mkdtempSync(join(tmpdir(), "gate-"));
  const free = await startGate({ environment: environmentOf(open), port: 0, auth: "none" });
  const url = `http://127.0.0.1:${free.port}/api/daemon/status`;
  const fetch = createSocketFetch(null);
  expect((await fetch(url)).status).toBe(200);
  expect((await fetch(url, { headers: { authorization: "Bearer wrong" } })).status).toBe(401);
  expect((await fetch(url, { headers: { origin: "http://evil.example" } })).status).toBe(403);
  await free.close();
  rmSync(open, { recursive: true });
});
