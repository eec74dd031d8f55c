import Sqlite from "libsql";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createTestGate, testCaller, type TestGate } from "../../helpers.ts";
import { enrol, type Person, sendTo, withPassphrase } from "./person.ts";

// deno-lint-ignore no-explicit-any
type Body = any;

const STEPS = ["a.txt", "b.txt"].map((path) => ({
  tool: "write_file",
  input: { path, content: `${path}\n` },
}));

/** A home with a passphrase, and a held plan. */
async function openProven() {
  const gate = await createTestGate({ policies: { defaultEffect: "ask" } });
  const person = withPassphrase();
  await enrol(sendTo(gate), person);
  const { id: session_id } = await send(gate, "POST", "/api/sessions", {});
  const submit = (body: object) => send(gate, "POST", "/api/actions", { ...body, session_id });
  const plan = await submit({ tool: "submit_plan", input: { title: "Two files", steps: STEPS } });
  return { gate, person, submit, plan };
}

async function send(gate: TestGate, method: string, path: string, body: unknown): Promise<Body> {
  return await (await gate.request(method, path, body, "agent")).json();
}

async function approve(gate: TestGate, person: Person, { id, digest }: Body): Promise<Body> {
  const path = `/api/actions/${id}/approve`;
  const body = { expected_digest: digest };
  const asked = await (await gate.request("POST", path, body)).json();
  expect(asked).toMatchObject({ code: "proof_required", challenge: { digest, action_id: id } });
  const proof = person.sign(asked.challenge);
  return await (await gate.request("POST", path, body, { ...testCaller("reviewer"), proof }))
    .json();
}

test("the proof signs the digest of the whole plan, and the log verifies", async () => {
  const { gate, person, submit, plan } = await openProven();
  expect(await approve(gate, person, plan)).toMatchObject({ status: "approved" });
  for (const step of STEPS) {
    expect(await submit(step)).toMatchObject({
      status: "approved",
      execution: "succeeded",
      decision: { lease_id: plan.id },
    });
  }
  const verified = await (await gate.request("GET", "/api/audit/verify")).json();
  expect(verified).toMatchObject({ ok: true });
});

test("a plan that another program marks as approved allows nothing", async () => {
  const { gate, submit, plan } = await openProven();
  await gate.reopen(() => {
    const db = new Sqlite(join(gate.home, "projects", "test", "ledger.db"));
    db.prepare(`UPDATE actions SET status = 'approved', execution = 'succeeded',
      decided_by = 'reviewer', decided_at = created_at WHERE id = ?`).run(plan.id);
    db.close();
  });
  expect(await submit(STEPS[0]!)).toMatchObject({ status: "pending" });
});

test("steps that another program changes after the approval are not covered", async () => {
  const { gate, person, submit, plan } = await openProven();
  await approve(gate, person, plan);
  await gate.reopen(() => {
    const db = new Sqlite(join(gate.home, "projects", "test", "ledger.db"));
    // Every step asks about everything, and lasts for ever.
    db.prepare(`UPDATE actions SET input = replace(replace(input, '"seconds":3600',
      '"seconds":99999999'), '"questions":["default"]', '"questions":["default","x"]')
      WHERE id = ?`).run(plan.id);
    db.close();
  });
  expect(await submit(STEPS[0]!)).toMatchObject({ status: "pending" });
});
