import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  createChallenge,
  createNonce,
  isProved,
  isSigned,
} from "../../../server/auth/prove_daemon.ts";
import { readToken } from "../../../server/auth/tokens.ts";
import { createSocketFetch, type Fetch } from "../../../server/runtime/socket_fetch.ts";
import { PortTakenError } from "../../../server/runtime/serve.ts";
import { type Gate, startGate } from "../../../server/start.ts";
import { Impostor } from "../../impostor.ts";

let home: string;
let gate: Gate;
let key: string;

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), "gate-"));
  mkdirSync(join(home, "tokens"), { mode: 0o700 });
  writeFileSync(join(home, "tokens", "page_keys.json"), "[]", { mode: 0o600 });
  await start(0);
  key = await logIn();
});

afterAll(async () => {
  await gate.close();
  rmSync(home, { recursive: true });
});

async function start(port: number): Promise<void> {
  const environment = { home, now: Date.now, id: () => crypto.randomUUID(), log: () => {} };
  gate = await startGate({ environment, port });
}

async function logIn(): Promise<string> {
  const headers = { authorization: `Bearer ${await readToken(home, "reviewer")}` };
  const made = await fetch(url("/api/auth/login-code"), { method: "POST", headers });
  const { path } = await made.json();
  const login = await fetch(url(path), { redirect: "manual" });
  return /#key=([\w-]{43})$/.exec(login.headers.get("location")!)![1]!;
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!await condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

test("an answer to a request with a page key and a nonce is signed, and no other", async () => {
  const ask = (headers: Record<string, string>, path = "/api/daemon/status") =>
    fetch(url(path), { headers });
  const nonce = createNonce();
  for (const path of ["/api/daemon/status", "/api/nothing"]) {
    const answer = await ask({ "x-gate-key": key, "x-gate-nonce": nonce }, path);
    expect(await isSigned(key, nonce, url(""), answer)).toBe(true);
    expect(await isSigned(key, createNonce(), url(""), answer)).toBe(false);
    expect(await isSigned(key, nonce, "http://127.0.0.1:1", answer)).toBe(false);
    expect(await isSigned("x".repeat(43), nonce, url(""), answer)).toBe(false);
  }
  const unsigned: Record<string, string>[] = [
    { "x-gate-key": key },
    { "x-gate-key": key, "x-gate-nonce": "short" },
    { "x-gate-key": "x".repeat(43), "x-gate-nonce": nonce },
    { "x-gate-nonce": nonce },
  ];
  for (const headers of unsigned) {
    expect((await ask(headers)).headers.get("x-gate-daemon")).toBe(null);
  }
});

const url = (path: string, host = "127.0.0.1") => `http://${host}:${gate.port}${path}`;

async function ask(body: unknown, { host = "127.0.0.1", send = fetch as Fetch } = {}) {
  const answer = await send(url("/api/auth/prove-daemon", host), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return { status: answer.status, body: await answer.json() };
}

test.each(["page key", "agent", "viewer", "reviewer"] as const)(
  "the daemon proves that it knows the %s, at each of its addresses",
  async (kind) => {
    const secret = kind === "page key" ? key : await readToken(home, kind);
    const challenge = await createChallenge(secret);
    expect(JSON.stringify(challenge)).not.toContain(secret);
    for (const host of ["127.0.0.1", "localhost", "[::1]"]) {
      const { status, body } = await ask(challenge, { host });
      expect(status).toBe(200);
      expect(await isProved(secret, challenge, url("", host), body)).toBe(true);
      // The answer fits no other secret, challenge or origin.
      const other = await createChallenge(secret);
      expect(await isProved("x".repeat(43), challenge, url("", host), body)).toBe(false);
      expect(await isProved(secret, other, url("", host), body)).toBe(false);
      expect(await isProved(secret, challenge, "http://localhost:1", body)).toBe(false);
    }
  },
);

test("the daemon proves nothing about a key that it does not know", async () => {
  const { status, body } = await ask(await createChallenge("x".repeat(43)));
  expect([status, body.code]).toEqual([404, "not_found"]);
});

test("nobody gets a proof over the socket, which belongs to no port", async () => {
  const send = createSocketFetch(gate.socket_path);
  expect((await ask(await createChallenge(key), { send })).status).toBe(404);
});

test.each([
  [{}],
  [{ key_id: "x", nonce: "y" }],
  [{ key_id: "k".repeat(22) }],
  [{ key_id: 1, nonce: 2 }],
  [{ key_id: "k".repeat(22), nonce: "n".repeat(43), more: 1 }],
])("bad input is refused: %j", async (body) => {
  expect(await ask(body)).toMatchObject({ status: 400, body: { code: "invalid" } });
});

test("a page key ends with the daemon, and a file of an older version is removed", async () => {
  expect(existsSync(join(home, "tokens", "page_keys.json"))).toBe(false);
  const status = async () =>
    (await fetch(url("/api/daemon/status"), { headers: { "x-gate-key": key } })).status;
  expect(await status()).toBe(200);
  const { port } = gate;
  await gate.close();
  await start(port);
  expect(await status()).toBe(401);
  expect((await ask(await createChallenge(key))).status).toBe(404);
  key = await logIn();
});

test("a page key ends with the port, also for a connection that is still open", async () => {
  const { port } = gate;
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  let heard = "";
  socket.on("data", (chunk) => heard += chunk);
  // The request has begun, so the daemon waits for it while it closes.
  socket.write(`GET /api/daemon/status HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n`);
  await fetch(url("/healthz"));
  const closed = gate.close();
  await until(async () => await fetch(url("/healthz")).then(() => false, () => true));
  socket.write(`X-Gate-Key: ${key}\r\n\r\n`);
  await once(socket, "close");
  await closed;
  await start(port);
  expect(heard).toMatch(/^HTTP\/1\.1 401 /);
  key = await logIn();
});

test.each(["127.0.0.1", "::1"])(
  "the daemon does not start while another program listens on %s",
  async (host) => {
    const { port } = gate;
    await gate.close();
    const impostor = await Impostor.listen(port, undefined, [host]);
    try {
      await expect(start(port)).rejects.toThrow(PortTakenError);
    } finally {
      await impostor.close();
      await start(port);
    }
  },
);
