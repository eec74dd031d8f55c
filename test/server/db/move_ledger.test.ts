import { cpSync, existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { Daemon } from "../../../server/daemon.ts";
import { GlobalConfig } from "../../../server/config/schema.ts";
import { Database } from "../../../server/db/database.ts";
import { createTestGate, testCaller, type TestGate } from "../../helpers.ts";
import { createTempFolder } from "../../temp_folder.ts";
import { enrol, sendTo, withPassphrase } from "../proof/person.ts";
import { markOf } from "../../../server/proof/ledger_changes.ts";
import type { ProofChange } from "../../../server/proof/schema.ts";
import { listLedgerChanges } from "../../../server/proof/store.ts";
import { startSqlServer } from "./sqld.ts";

const agent = testCaller("agent");

async function stage() {
  const server = await startSqlServer(createTempFolder("sqld"));
  const gate = await createTestGate({
    policies: { defaultEffect: "allow", askPaths: [{ pattern: "held/**" }] },
    storage: { url: server.url },
  });
  return { server, gate };
}

async function write(gate: TestGate, path: string, content = path) {
  const project = await gate.daemon.projects.get("test");
  const submitted = await project.actions.submit(
    { tool: "write_file", input: { path, content } },
    agent,
  );
  return submitted.action;
}

async function ask(gate: TestGate, method: string, path: string, body?: unknown) {
  const response = await gate.request(method, `${path}?project=test`, body);
  return { status: response.status, body: await response.json() };
}

const joinServer = (gate: TestGate) => ask(gate, "PUT", "/api/hub/projects/test/server");
const leaveServer = (gate: TestGate) => ask(gate, "DELETE", "/api/hub/projects/test/server");

/** Everything that the routes tell of the actions and sessions. */
async function shown(gate: TestGate) {
  const read = async (path: string) => {
    const answer = await gate.request("GET", path);
    expect([path, answer.status]).toEqual([path, 200]);
    return await answer.json();
  };
  return {
    actions: await read("/api/actions?project=test&limit=200"),
    by_path: await read("/api/actions?project=test&path=a.txt"),
    by_word: await read("/api/actions?project=test&q=held"),
    sessions: await read("/api/sessions?project=test"),
    hits: await read("/api/policy/hits?project=test"),
    days: await read("/api/analytics/summary?project=test"),
  };
}

const folderOf = (gate: TestGate) => join(gate.home, "projects", "test");

test("a ledger moves to a server and back, and nothing of it changes", async () => {
  const { gate } = await stage();
  const binary = new Uint8Array(3 * 1024 * 1024).map((_, at) => (at * 7919) % 251);
  await write(gate, "a.txt", "one");
  await write(gate, "a.txt", "two");
  await write(gate, "large.txt", new TextDecoder("latin1").decode(binary));
  const held = await write(gate, "held/b.txt", "b");
  const before = await shown(gate);

  const joined = await joinServer(gate);
  expect(joined).toMatchObject({ status: 200, body: { place: "server", ok: true, problem: null } });
  expect(await shown(gate)).toEqual(before);

  // A held action that came along is approved and executed, and new ones come in.
  const approved = await ask(gate, "POST", `/api/actions/${held.id}/approve`, {});
  expect(approved.body).toMatchObject({ status: "approved", execution: "succeeded" });
  expect(readFileSync(join(gate.root, "held/b.txt"), "utf8")).toBe("b");
  expect(await write(gate, "c.txt")).toMatchObject({ execution: "succeeded" });
  const on_server = await shown(gate);
  await gate.reopen();
  expect(await shown(gate)).toEqual(on_server);
  expect((await ask(gate, "POST", `/api/actions/${approved.body.id}/rollback`, {})).status).toBe(
    200,
  );
  expect(existsSync(join(gate.root, "held/b.txt"))).toBe(false);

  const later = await shown(gate);
  const left = await leaveServer(gate);
  expect(left).toMatchObject({ status: 200, body: { place: "here", ok: true, problem: null } });
  expect(left.body.events).toBeGreaterThan(joined.body.events);
  expect(await shown(gate)).toEqual(later);
  expect(await write(gate, "d.txt")).toMatchObject({ execution: "succeeded" });
  expect((await ask(gate, "GET", "/api/audit/verify")).body).toMatchObject({ ok: true });
  const files = readdirSync(folderOf(gate));
  expect(files.filter((name) => /^ledger\.db\.before-.*Z$/.test(name))).toHaveLength(1);
  expect(files).not.toContain("server.json");

  // The server's copy is older than the ledger, so it is replaced.
  expect(await joinServer(gate)).toMatchObject({ status: 200, body: { ok: true } });
  expect((await ask(gate, "GET", "/api/audit/verify")).body).toMatchObject({ ok: true });
});

test("of two moves at the same time one is refused", async () => {
  const { gate } = await stage();
  await write(gate, "a.txt");
  const both = await Promise.all([joinServer(gate), joinServer(gate)]);
  const [moved, refused] = both.toSorted((a, b) => a.status - b.status);
  expect(moved).toMatchObject({ status: 200, body: { place: "server", ok: true } });
  expect(refused).toMatchObject({
    status: 409,
    body: { detail: expect.stringContaining("it is being moved already") },
  });
  expect(await write(gate, "b.txt")).toMatchObject({ execution: "succeeded" });
});

test("the file that a ledger left is never taken for the ledger", async () => {
  const { gate } = await stage();
  await write(gate, "a.txt");
  await joinServer(gate);
  const marker = join(folderOf(gate), "server.json");
  const text = readFileSync(marker, "utf8");
  await gate.daemon.close();
  rmSync(marker);
  const daemon = await Daemon.open(gate.environment, { port: 47999 });
  await expect(daemon.projects.get("test")).rejects.toThrow(/was moved to a server/);
  await daemon.close();
  expect(JSON.parse(text)).toMatchObject({ copy_id: expect.any(String) });
});

test("a database with another ledger is left as it is", async () => {
  const { gate, server } = await stage();
  await write(gate, "a.txt");
  await joinServer(gate);
  const other = await createTestGate({ project_id: "test", storage: { url: server.url } });
  await write(other, "z.txt");
  const refused = await joinServer(other);
  expect(refused).toMatchObject({ status: 409 });
  expect(refused.body.detail).toContain('another ledger of "test"');
  expect(await write(other, "y.txt")).toMatchObject({ execution: "succeeded" });
  expect((await ask(gate, "GET", "/api/audit/verify")).body).toMatchObject({ ok: true });
});

test("a move that the server ends half-way leaves the ledger here, and the next one succeeds", async () => {
  const { gate, server } = await stage();
  for (let n = 0; n < 30; n++) await write(gate, `${n}.txt`, "x".repeat(n * 3_000));
  const before = await shown(gate);
  const real = globalThis.fetch;
  let left = 12;
  vi.spyOn(globalThis, "fetch").mockImplementation(async (...args) => {
    if (--left === 0) await server.kill();
    return await real(...args);
  });
  const failed = await joinServer(gate);
  vi.restoreAllMocks();
  expect(failed).toMatchObject({ status: 503 });
  expect((await gate.daemon.projects.listOpen()).map(({ id }) => id)).toContain("test");
  expect(await shown(gate)).toEqual(before);
  expect(await write(gate, "more.txt")).toMatchObject({ execution: "succeeded" });
  await server.start();
  expect(await joinServer(gate)).toMatchObject({ status: 200, body: { ok: true } });
});

test("of two daemons with the same home on one server, only the later one commits", async () => {
  const { gate } = await stage();
  await write(gate, "a.txt");
  await joinServer(gate);
  const copy = join(createTempFolder("copy"), "home");
  cpSync(gate.home, copy, { recursive: true });
  const second = await Daemon.open({ ...gate.environment, home: copy }, { port: 47998 });
  try {
    await second.projects.get("test");
    const first = await gate.request("POST", "/api/actions?project=test", {
      tool: "write_file",
      input: { path: "b.txt", content: "b" },
    });
    expect(first.status).toBe(503);
    expect((await first.json()).detail).toContain("another daemon");
    expect(existsSync(join(gate.root, "b.txt"))).toBe(false);
    // It does not take the ledger back by itself.
    await expect(write(gate, "c.txt")).rejects.toThrow(/another daemon/);
    expect(await (await second.projects.get("test")).audit.verify()).toMatchObject({ ok: true });
  } finally {
    await second.close();
  }
});

test("a move needs a person's proof, which the log keeps", async () => {
  const { gate } = await stage();
  const send = sendTo(gate);
  const person = withPassphrase();
  expect((await enrol(send, person)).status).toBe(200);
  const asked = await joinServer(gate);
  expect(asked).toMatchObject({
    status: 403,
    body: { code: "proof_required", challenge: { verb: "move_ledger", project_id: "test" } },
  });
  expect(existsSync(join(folderOf(gate), "server.json"))).toBe(false);
  const proof = person.sign(asked.body.challenge);
  const caller = { ...testCaller("reviewer"), proof };
  const moved = await gate.request("PUT", "/api/hub/projects/test/server", undefined, caller);
  expect(await moved.json()).toMatchObject({ place: "server", ok: true });
  gate.project = await gate.daemon.projects.get("test");
  const events = await gate.audit();
  const { data } = events.find(({ type }) => type === "ledger.move_started")!;
  expect(data).toMatchObject({
    asked: { to: "server" },
    proof: { challenge: { verb: "move_ledger" } },
  });

  // A start reads keys and accepted configs from the file, also those from after the move.
  const { challenge } = await (await send("POST", "/api/proof/remove", {})).json();
  const remover = { ...testCaller("reviewer"), proof: person.sign(challenge) };
  expect((await gate.request("POST", "/api/proof/remove", {}, remover)).status).toBe(200);
  await gate.daemon.close();
  const path = join(folderOf(gate), "ledger.db");
  const file = await Database.open(path);
  const kinds = (await listLedgerChanges(file, "test")).map((one) => (one as ProofChange).kind);
  await file.close();
  expect(kinds).toEqual(["passphrase", "none"]);
  expect(readFileSync(path).readInt32BE(60)).toBe(
    markOf((await changesOnServer(gate)).at(-1)!),
  );
});

/** The changes of the proof that the daemon finds when it opens the ledger. */
async function changesOnServer(gate: TestGate): Promise<ProofChange[]> {
  await gate.open();
  const project = await gate.daemon.projects.get("test");
  return await listLedgerChanges(project.ledger, "test") as ProofChange[];
}

test("without a server in the config nothing moves", async () => {
  const gate = await createTestGate();
  const refused = await joinServer(gate);
  expect(refused).toMatchObject({ status: 409 });
  expect(refused.body.detail).toContain("names no server");
  expect((await leaveServer(gate)).status).toBe(409);
  expect((await ask(gate, "GET", "/api/hub/storage")).body).toEqual({
    url: null,
    token_env: null,
    token_is_set: null,
    waiting_url: null,
    ledgers: [{ project_id: "test", place: "here", url: null, problem: null, machines: null }],
  });
});

test("a token's variable that is not set is named, and its value never", async () => {
  const server = await startSqlServer(createTempFolder("sqld"));
  const authTokenEnv = "GATE_TEST_LEDGER_TOKEN";
  const gate = await createTestGate({ storage: { url: server.url, authTokenEnv } });
  const refused = await joinServer(gate);
  expect(refused).toMatchObject({ status: 503 });
  expect(refused.body.detail).toContain(authTokenEnv);
  vi.stubEnv(authTokenEnv, "very-secret");
  expect(await joinServer(gate)).toMatchObject({ status: 200, body: { ok: true } });
  const told = JSON.stringify([
    gate.logs,
    await (await gate.request("GET", "/api/hub/storage")).json(),
  ]);
  vi.unstubAllEnvs();
  expect(told).toContain(authTokenEnv);
  expect(told).not.toContain("very-secret");
});

test.each([
  ["http://ledgers.example.com", /https/],
  ["https://user:word@ledgers.example.com", /password/],
  ["https://ledgers.example.com/?authToken=x", /query/],
  ["ledgers", /expected an address/],
  ["https://{project}", /must follow \{project\}/],
  ["https://{project}:8443", /must follow \{project\}/],
  ["https://{project}.com./x", /must follow \{project\}/],
  ["https://ledgers.{project}/", /must follow \{project\}/],
  ["https:\\\\a.example.com.{project}x.net", /must follow \{project\}/],
])("the address %s is refused", (url, why) => {
  const { success, error } = GlobalConfig.safeParse({ storage: { url } });
  expect(success).toBe(false);
  expect(error!.issues[0]!.message).toMatch(why);
});

test("an address may give each project a database of its own", () => {
  const storage = { url: "https://{project}.ledgers.example.com", authTokenEnv: "TOKEN" };
  expect(GlobalConfig.parse({ storage }).storage).toEqual(storage);
  for (const url of ["https://db-{project}.example.com", "https://db/{project}"]) {
    expect(GlobalConfig.parse({ storage: { url } }).storage).toEqual({ url });
  }
});

test("the file stays whole beside the ledger on the server", async () => {
  const { gate } = await stage();
  await write(gate, "a.txt");
  await joinServer(gate);
  await gate.daemon.close();
  const file = await Database.open(join(folderOf(gate), "ledger.db"));
  const rows = await file.all("SELECT state FROM placement");
  await file.close();
  expect(rows).toEqual([{ state: "left" }]);
});
