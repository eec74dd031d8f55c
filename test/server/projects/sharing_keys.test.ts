import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { testCaller, type TestGate } from "../../helpers.ts";
import { createTempFolder } from "../../temp_folder.ts";
import { startSqlServer } from "../db/sqld.ts";
import { enrol, type Person, prove, sendTo, withPassphrase } from "../proof/person.ts";
import { ask, contentOf, openMachine, write } from "./two_machines.ts";

const soon = { timeout: 10_000, interval: 20 };
const JOIN = "/api/hub/projects/test/server?shared=true";

/** Sends a request without a body, with the proof in its header. */
async function proven(gate: TestGate, person: Person, method: string, path: string) {
  const refused = await (await gate.request(method, path)).json();
  expect(refused).toMatchObject({ code: "proof_required" });
  const caller = { ...testCaller("reviewer"), proof: person.sign(refused.challenge) };
  const response = await gate.request(method, path, undefined, caller);
  return { status: response.status, body: await response.json() };
}

/** Accepts every config that waits, with the person's proof. */
async function acceptConfigs(gate: TestGate, person: Person) {
  const { body } = await ask(gate, "GET", "/api/config");
  for (const { path, after_sha256: sha256, number } of body.outside_changes) {
    const accepted = await prove(sendTo(gate), person, [
      "POST",
      "/api/config/accept?project=test",
      { path, sha256, number },
    ]);
    expect([path, accepted.status]).toEqual([path, 200]);
  }
}

/** Waits until a machine counts the new key of a person. */
async function takesOver(gate: TestGate, { key_id }: Person) {
  await vi.waitFor(async () => {
    const { body } = await ask(gate, "GET", "/api/proof");
    expect(body).toMatchObject({ problem: null, enrolled: [{ key_id }] });
  }, soon);
}

/** Two machines whose ledger a person's passphrase protects. */
async function stage() {
  const server = await startSqlServer(createTempFolder("sqld"));
  const person = withPassphrase();
  const first = await openMachine(server);
  expect((await enrol(sendTo(first), person)).status).toBe(200);
  const moved = await proven(first, person, "PUT", "/api/hub/projects/test/server");
  expect(moved).toMatchObject({ status: 200, body: { ok: true } });

  const second = await openMachine(server);
  const early = await ask(second, "PUT", JOIN);
  expect([early.status, early.body.detail]).toEqual([
    409,
    expect.stringContaining("no person has accepted its global config"),
  ]);
  await acceptConfigs(second, person);
  expect(await proven(second, person, "PUT", JOIN)).toMatchObject({
    status: 200,
    body: { place: "server", ok: true, problem: null },
  });
  for (const gate of [first, second]) gate.project = await gate.daemon.projects.get("test");
  await acceptConfigs(second, person);
  return { server, person, first, second };
}

test("a proof on one machine is verified on the other, by the keys of the ledger", async () => {
  const { person, first, second } = await stage();
  const { body: held } = await write(first, "held/a.txt");
  expect(held).toMatchObject({ status: "pending" });
  const path = `/api/actions/${held.id}/approve?project=test`;
  const stranger = withPassphrase();
  const forged = await prove(sendTo(second), stranger, ["POST", path]);
  expect(forged.status).toBe(403);
  const approved = await prove(sendTo(second), person, ["POST", path]);
  expect(await approved.json()).toMatchObject({ status: "approved", execution: "none" });
  await vi.waitFor(() => expect(contentOf(first, "held/a.txt")).toBe("held/a.txt"), soon);
  for (const gate of [first, second]) {
    expect((await ask(gate, "GET", "/api/audit/verify")).body).toMatchObject({
      ok: true,
      problem: null,
    });
  }
  const joined = (await second.audit()).filter(({ type }) => type === "machine.joined");
  expect(joined.map(({ data }) => Boolean(data.proof))).toEqual([false, true]);
});

test("a rollback, an edit and a remembered approval from another machine need the proof of that person", async () => {
  const { person, first, second } = await stage();
  const send = sendTo(second);
  const { body: held } = await write(first, "held/a.txt");
  const edit = `/api/actions/${held.id}/approve-with-edit?project=test`;
  const forged = await prove(send, withPassphrase(), ["POST", edit, { content: "forged" }]);
  expect([forged.status, contentOf(first, "held/a.txt")]).toEqual([403, null]);
  const edited = await prove(send, person, ["POST", edit, { content: "edited" }]);
  expect(await edited.json()).toMatchObject({ edited: true, execution: "succeeded" });
  expect(contentOf(first, "held/a.txt")).toBe("edited");

  const { body: next } = await write(first, "held/b.txt");
  const approve = `/api/actions/${next.id}/approve?project=test`;
  const remember = { scope: "session", ttl_seconds: 600, max_uses: 5, pattern: "held/*" };
  expect((await prove(send, person, ["POST", approve, { remember }])).status).toBe(200);
  expect((await write(first, "held/c.txt")).body).toMatchObject({ execution: "succeeded" });

  const rollback = `/api/actions/${held.id}/rollback?project=test`;
  const unproven = await ask(second, "POST", `/api/actions/${held.id}/rollback`, {});
  expect(unproven).toMatchObject({ status: 403, body: { code: "proof_required" } });
  expect((await prove(send, person, ["POST", rollback])).status).toBe(200);
  expect(contentOf(first, "held/a.txt")).toBe(null);
  for (const gate of [first, second]) {
    expect((await ask(gate, "GET", "/api/audit/verify")).body).toMatchObject({ ok: true });
  }
});

test("clocks that are hours apart refuse no decision, and the log verifies", async () => {
  const { person, first, second } = await stage();
  const send = sendTo(second);
  first.clock.advance(3 * 60 * 60_000);
  const { body: held } = await write(first, "held/a.txt");
  const edit = `/api/actions/${held.id}/approve-with-edit?project=test`;
  const edited = await prove(send, person, ["POST", edit, { content: "edited" }]);
  expect(await edited.json()).toMatchObject({ edited: true, execution: "succeeded" });
  const rollback = `/api/actions/${held.id}/rollback?project=test`;
  expect((await prove(send, person, ["POST", rollback])).status).toBe(200);

  // The other machine goes on while a person types the passphrase here.
  const { body: next } = await write(first, "held/b.txt");
  const approve = `/api/actions/${next.id}/approve?project=test`;
  const refused = await (await send("POST", approve, {})).json();
  await write(first, "meanwhile.txt");
  const approved = await send("POST", approve, { proof: person.sign(refused.challenge) });
  expect(approved.status).toBe(200);
  await vi.waitFor(() => expect(contentOf(first, "held/b.txt")).toBe("held/b.txt"), soon);
  for (const gate of [first, second]) {
    expect((await ask(gate, "GET", "/api/audit/verify")).body).toMatchObject({ ok: true });
  }
});

test("an approval without a proof, which another program wrote, is not executed", async () => {
  const { first, second } = await stage();
  const { body: held } = await write(first, "held/a.txt");
  await second.project.ledger.commit({
    statements: [{
      sql: "UPDATE actions SET status = 'approved', decided_by = 'reviewer' WHERE id = ?",
      args: [held.id],
    }],
    events: [{
      ...{ session_id: held.session_id, action_id: held.id, type: "action.approved" },
      actor: { kind: "reviewer", id: "reviewer" },
      data: { status: "approved", digest: held.digest, edited: false, reason: null },
    }],
  });
  await vi.waitFor(async () => {
    const { body } = await ask(first, "GET", `/api/actions/${held.id}`);
    expect(body).toMatchObject({ execution: "failed", error: expect.stringContaining("proof") });
  }, soon);
  expect(contentOf(first, "held/a.txt")).toBe(null);
});

test("a new key on one machine decides on the other too, and the old one no longer", async () => {
  const { person, first, second } = await stage();
  const later = withPassphrase();
  expect((await enrol(sendTo(first), later, person)).status).toBe(200);
  await takesOver(second, later);
  await acceptConfigs(second, later);
  const { body: held } = await write(second, "held/b.txt");
  const path = `/api/actions/${held.id}/approve?project=test`;
  expect((await prove(sendTo(second), person, ["POST", path])).status).toBe(403);
  const approved = await prove(sendTo(first), later, ["POST", path]);
  expect(await approved.json()).toMatchObject({ status: "approved" });
  await vi.waitFor(() => expect(contentOf(second, "held/b.txt")).toBe("held/b.txt"), soon);
});

test("a new key that cannot be taken over at once is taken over a moment later", async () => {
  const { person, first, second } = await stage();
  const failing = vi.spyOn(second.daemon.proofs, "follow")
    .mockRejectedValueOnce(new Error("the disk sleeps"))
    .mockRejectedValueOnce(new Error("the disk sleeps"));
  onTestFinished(() => failing.mockRestore());
  const later = withPassphrase();
  expect((await enrol(sendTo(first), later, person)).status).toBe(200);
  await takesOver(second, later);
  expect(second.logs.filter(({ level }) => level === "error")).toHaveLength(2);
});

test("a home with a key of its own cannot join, and keeps its ledger", async () => {
  const { server } = await stage();
  const other = await openMachine(server);
  expect((await enrol(sendTo(other), withPassphrase())).status).toBe(200);
  const refused = await ask(other, "PUT", JOIN);
  expect([refused.status, refused.body.detail]).toEqual([
    409,
    expect.stringMatching(/this home has keys of its own.*--fresh-home/),
  ]);
  const folder = join(other.home, "projects", "test");
  expect(() => readFileSync(join(folder, "server.json"))).toThrow(/ENOENT/);
  expect((await write(other, "a.txt")).body).toMatchObject({ execution: "succeeded" });
});
