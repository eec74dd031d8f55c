import Sqlite from "libsql";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Caller } from "../../../server/auth/schema.ts";
import { createTestGate, testCaller, type TestGate } from "../../helpers.ts";
import { enrol, type Person, sendTo, withPassphrase } from "../proof/person.ts";
import type { Body } from "./stage.ts";

async function signed(
  gate: TestGate,
  person: Person,
  [method, path, body]: [string, string, unknown],
  as: Caller = testCaller("reviewer"),
): Promise<{ status: number; body: Body }> {
  const first = await gate.request(method, path, body, as);
  const problem = await first.clone().json();
  if (problem.code !== "proof_required" || !problem.challenge) {
    return { status: first.status, body: problem };
  }
  const proof = person.sign(problem.challenge);
  const answer = await gate.request(method, path, body, { ...as, proof });
  return { status: answer.status, body: await answer.json() };
}

/** A home with a passphrase, a team and a route of two for everything. */
async function openProven() {
  const gate = await createTestGate({ policies: { defaultEffect: "ask" } });
  const person = withPassphrase();
  await enrol(sendTo(gate), person);
  const sign = (...request: [string, string, unknown]) => signed(gate, person, request);
  expect((await sign("POST", "/api/team/members", { name: "Ann" })).status).toBe(201);
  const two = { name: "Two", approvers: { role: "reviewer" }, quorum: 2 };
  expect((await sign("POST", "/api/approval-routes", two)).status).toBe(201);
  const input = { path: "a.txt", content: "x" };
  const submitted = await gate.request(
    "POST",
    "/api/actions",
    { tool: "write_file", input },
    "agent",
  );
  const { id } = await submitted.json();
  return { gate, person, sign, id: String(id) };
}

test("each vote is signed; a member without a key of their own cannot vote", async () => {
  const { gate, sign, id } = await openProven();
  const bare = await gate.request("POST", `/api/actions/${id}/approve`, {});
  expect((await bare.json()).code).toBe("proof_required");
  const vote = await sign("POST", `/api/actions/${id}/approve`, {});
  expect(vote).toMatchObject({ status: 202, body: { approvals: { need: 2, have: 1 } } });
  const cast = (await gate.audit()).find(({ type }) => type === "vote.cast")!;
  expect(cast.data.proof).toMatchObject({ challenge: { verb: "approve", action_id: id } });
  const ann = testCaller("reviewer", "ann");
  const refused = await gate.request("POST", `/api/actions/${id}/approve`, {}, ann);
  expect(await refused.json()).toMatchObject({
    code: "proof_required",
    detail: expect.stringContaining("you have no key of your own; an admin creates a login link"),
  });
  expect(await (await gate.request("GET", "/api/audit/verify")).json()).toMatchObject({ ok: true });
  await gate.reopen();
  const status = await (await gate.request("GET", `/api/actions/${id}/status`)).json();
  expect(status.approvals).toEqual({ need: 2, have: 1 });
});

test("a vote that another program writes into the ledger does not count", async () => {
  const { gate, sign, id } = await openProven();
  await sign("POST", `/api/actions/${id}/approve`, {});
  await gate.reopen(() => {
    const db = new Sqlite(join(gate.home, "projects", "test", "ledger.db"));
    db.exec(`INSERT INTO audit (project_id, seq, at, session_id, action_id, type, actor, data,
        prev_hash, hash)
      SELECT project_id, (SELECT max(seq) + 1 FROM audit), at, session_id, action_id, type,
        '{"kind":"reviewer","id":"ann"}', json_set(data, '$.member_id', 'ann'),
        (SELECT hash FROM audit ORDER BY seq DESC LIMIT 1), lower(hex(randomblob(32)))
      FROM audit WHERE type = 'vote.cast'`);
    db.close();
  });
  const status = await (await gate.request("GET", `/api/actions/${id}/status`)).json();
  expect(status).toMatchObject({ status: "pending", approvals: { need: 2, have: 1 } });
  expect(existsSync(join(gate.root, "a.txt"))).toBe(false);
});

test("a row that lost its route still needs the people of the route in force", async () => {
  const { gate, sign, id } = await openProven();
  await gate.reopen(() => {
    const db = new Sqlite(join(gate.home, "projects", "test", "ledger.db"));
    db.exec("UPDATE actions SET route = NULL");
    db.close();
  });
  const vote = await sign("POST", `/api/actions/${id}/approve`, {});
  expect(vote).toMatchObject({ status: 202, body: { approvals: { need: 2, have: 1 } } });
});

test("routes that nobody signed let nothing be approved", async () => {
  const { gate, sign, id } = await openProven();
  await gate.reopen(() => {
    const db = new Sqlite(join(gate.home, "gate.db"));
    db.exec("UPDATE kept_lists SET items = '[]' WHERE name = 'approval_routes.json'");
    db.close();
  });
  const refused = await sign("POST", `/api/actions/${id}/approve`, {});
  expect([refused.status, refused.body.detail])
    .toEqual([409, expect.stringContaining("gate team accept")]);
  expect((await gate.daemon.status()).problems.join()).toContain("gate team accept");
  // A new action waits all the same, and the views show it.
  const sent = { tool: "write_file", input: { path: "b.txt", content: "x" } };
  const held = await gate.request("POST", "/api/actions", sent, "agent");
  expect([held.status, (await held.json()).status]).toEqual([202, "pending"]);
  for (
    const path of [`/api/actions/${id}`, `/api/actions/${id}/status`, "/api/approvals/pending"]
  ) {
    expect([path, (await gate.request("GET", path)).status]).toEqual([path, 200]);
  }
  const { waiting: { differences, ...seen } } =
    await (await gate.request("GET", "/api/approval-routes")).json();
  expect(differences).toMatchObject([{ kind: "added" }]);
  expect((await sign("POST", "/api/approval-routes/accept", seen)).status).toBe(200);
  expect((await sign("POST", `/api/actions/${id}/approve`, {})).status).toBe(202);
});

test("a grant allows nothing while nobody can tell the routes", async () => {
  const gate = await createTestGate({ policies: { defaultEffect: "ask" } });
  const person = withPassphrase();
  await enrol(sendTo(gate), person);
  const submit = async (path: string) => {
    const sent = { tool: "write_file", input: { path, content: path } };
    return await (await gate.request("POST", "/api/actions", sent, "agent")).json();
  };
  const remember = { scope: "project", ttl_seconds: 3_600, max_uses: 9, pattern: "docs/**" };
  const { id } = await submit("docs/a.txt");
  const approved = await signed(gate, person, ["POST", `/api/actions/${id}/approve`, { remember }]);
  expect([approved.status, approved.body.detail]).toEqual([200, undefined]);
  expect(await submit("docs/b.txt")).toMatchObject({ status: "approved" });
  const two = { name: "Two", approvers: { role: "reviewer" }, quorum: 2 };
  await signed(gate, person, ["POST", "/api/team/members", { name: "Ann" }]);
  await signed(gate, person, ["POST", "/api/approval-routes", two]);
  await gate.reopen(() => {
    const db = new Sqlite(join(gate.home, "gate.db"));
    db.exec("UPDATE kept_lists SET items = '[]' WHERE name = 'approval_routes.json'");
    db.close();
  });
  expect(await submit("docs/c.txt")).toMatchObject({ status: "pending" });
});
