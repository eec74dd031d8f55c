import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { verifyFile } from "../../../cli/evidence/verify.ts";
import type { NewEvent } from "../../../server/db/ledger.ts";
import type { Challenge, ProofRecord } from "../../../server/proof/schema.ts";
import { ensureEvidencePage } from "../../evidence_page.ts";
import type { TestGate } from "../../helpers.ts";
import { approve, forge, hold, open, type Stage } from "./forging.ts";
import { prove } from "./person.ts";

type Json = Record<string, unknown>;

const DAY = 24 * 3_600_000;
const BY = { kind: "reviewer" as const, id: "reviewer" };

/** A proof that the person signs, and that never reaches the gate: a program in between keeps it. */
async function capture(
  { send, person }: Stage,
  [method, path, body = {}]: [string, string, Json?],
): Promise<ProofRecord> {
  const refused = await send(method, path, body);
  expect(refused.status).toBe(403);
  const { challenge } = await refused.json() as { challenge: Challenge };
  const { nonce: _, ...answer } = person.sign(challenge);
  return { ...answer, challenge } as ProofRecord;
}

const approvalOf = (stage: Stage, id: string) =>
  capture(stage, ["POST", `/api/actions/${id}/approve`]);

/** Appends an event to the chain with right hashes, as a program that writes the ledger can. */
async function append(gate: TestGate, event: NewEvent): Promise<number> {
  await gate.project.ledger.commit({ statements: [], events: [event] });
  return gate.project.ledger.head.seq;
}

async function appendApproval(gate: TestGate, id: string, proof: ProofRecord): Promise<number> {
  const { session_id, digest } = await gate.project.actions.get(id);
  const data = { status: "approved", digest, proof };
  return await append(gate, {
    session_id,
    action_id: id,
    type: "action.approved",
    actor: BY,
    data,
  });
}

/** Daemon, bundle and export tell the same. */
async function expectFault(gate: TestGate, seq: number, why: string): Promise<void> {
  await ensureEvidencePage();
  const folder = mkdtempSync(join(tmpdir(), "gate-captured-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const problem = { seq, what: `the proof of event ${seq} is not valid: ${why}` };
  const answer = await gate.request("GET", "/api/audit/verify");
  expect(await answer.json()).toMatchObject({ ok: false, problem });
  for (const format of ["bundle", "json"]) {
    const path = join(folder, format);
    const exported = await gate.request("GET", `/api/audit/export?format=${format}`);
    writeFileSync(path, await exported.text());
    expect(await verifyFile(path, {})).toMatchObject({ ok: false, problem });
  }
}

const LATER =
  "it was kept and written later: its challenge had expired when earlier events were written";

describe("a proof that was captured and is written into the ledger later", () => {
  test("approves nothing after its time, whatever time its event names", async () => {
    const stage = await open();
    const { gate } = stage;
    const id = await hold(gate);
    const proof = await approvalOf(stage, id);
    const then = gate.clock.now;
    gate.clock.advance(DAY / 2);
    await hold(gate, "write_file", { path: "other", content: "x" });
    gate.clock.now = then;
    const seq = await appendApproval(gate, id, proof);
    await expectFault(gate, seq, LATER);
  });

  test.each(["a day later", "at once"])("executes nothing at the next start: %s", async (when) => {
    const stage = await open();
    const { gate } = stage;
    const id = await hold(gate);
    const proof = await approvalOf(stage, id);
    if (when === "at once") {
      expect((await gate.request("POST", `/api/actions/${id}/reject`, {})).status).toBe(200);
    } else {
      gate.clock.advance(DAY / 2);
      await hold(gate, "write_file", { path: "other", content: "x" });
    }
    await appendApproval(gate, id, proof);
    await forge(
      gate,
      "UPDATE actions SET status = 'approved', decided_at = created_at, decided_by = 'reviewer' WHERE id = ?",
      [id],
    );
    await gate.reopen();
    expect(existsSync(join(gate.root, "a.txt"))).toBe(false);
    const { execution, error } = await gate.project.actions.get(id);
    expect(execution).toBe("failed");
    expect(error).toContain(when === "at once" ? "did not wait for an approval" : LATER);
  });

  test("approves nothing that the person has rejected since", async () => {
    const stage = await open();
    const { gate } = stage;
    const id = await hold(gate);
    const proof = await approvalOf(stage, id);
    expect((await gate.request("POST", `/api/actions/${id}/reject`, {})).status).toBe(200);
    const seq = await appendApproval(gate, id, proof);
    await expectFault(gate, seq, "its action did not wait for an approval");
  });

  test("lifts no block", async () => {
    const stage = await open();
    const { gate } = stage;
    const session_id = (await gate.project.actions.get(await hold(gate))).session_id;
    const block_id = "0199a1b2-0000-7000-8000-0000000000bb";
    await append(gate, {
      session_id,
      action_id: null,
      type: "block.added",
      actor: { kind: "system", id: "gate" },
      data: { block_id, reason: "a guarded file was changed" },
    });
    const asked = { block_id };
    const proof = await capture(stage, ["POST", `/api/remediation/blocks/${block_id}/unblock`]);
    gate.clock.advance(DAY);
    await hold(gate, "write_file", { path: "other", content: "x" }).catch(() => {});
    const data = { block_id, reason: null, asked, proof };
    const lift = { session_id, action_id: null, type: "block.removed" as const, actor: BY, data };
    const seq = await append(gate, lift);
    await expectFault(gate, seq, LATER);
    await gate.reopen();
    const blocks = await (await gate.request("GET", "/api/remediation/blocks")).json();
    expect(blocks.items).toMatchObject([{ id: block_id }]);
  });

  test("accepts no config under a number that another one has", async () => {
    const stage = await open();
    const { gate } = stage;
    const path = join(gate.root, "gate.config.json");
    const accept = async (policies: Json, how: "send" | "capture") => {
      gate.write("gate.config.json", JSON.stringify({ id: "test", policies }));
      const view = await (await gate.request("GET", "/api/config")).json();
      const { after_sha256: sha256, number } = view.outside_changes[0];
      const body = { path, sha256, number };
      const request: [string, string, Json] = ["POST", "/api/config/accept", body];
      if (how === "capture") return { ...body, proof: await capture(stage, request) };
      expect((await prove(stage.send, stage.person, request)).status).toBe(200);
      return { ...body, proof: null };
    };
    await accept({ defaultEffect: "ask", allowedCommands: ["ls"] }, "send");
    const lax = await accept({ defaultEffect: "allow" }, "capture");
    await accept({ defaultEffect: "ask", allowedCommands: ["pwd"] }, "send");
    expect((await gate.project.audit.verify()).ok).toBe(true);
    const { sha256, number, proof } = lax;
    const event = (accepted: Json) => ({
      ...{ session_id: null, action_id: null, type: "policy.changed" as const, actor: BY },
      data: { source: "accepted", path, after_sha256: sha256, accepted, proof },
    });
    const seq = await append(gate, event({ project_id: "test", number, sha256 }));
    await expectFault(
      gate,
      seq,
      "another version of the config was accepted under its number",
    );
  });

  test("accepts no other config than the signed one", async () => {
    const stage = await open();
    const { gate } = stage;
    const path = join(gate.root, "gate.config.json");
    gate.write("gate.config.json", JSON.stringify({ policies: { defaultEffect: "allow" } }));
    const view = await (await gate.request("GET", "/api/config")).json();
    const { after_sha256: sha256, number } = view.outside_changes[0];
    const body = { path, sha256, number };
    const proof = await capture(stage, ["POST", "/api/config/accept", body]);
    const accepted = { project_id: "test", number: number + 1, sha256 };
    const data = { source: "accepted", path, after_sha256: sha256, accepted, proof };
    const seq = await append(gate, {
      ...{ session_id: null, action_id: null, type: "policy.changed", actor: BY, data },
    });
    await expectFault(gate, seq, "it is for another config");
  });
});

describe("decisions that are slow, or many at once", () => {
  test("are valid: all challenges first, then all approvals, in another order", async () => {
    const stage = await open();
    const { gate, send, person } = stage;
    const ids: string[] = [];
    for (let i = 0; i < 8; i++) {
      ids.push(await hold(gate, "write_file", { path: `${i}`, content: "x" }));
    }
    const proofs = new Map<string, unknown>();
    for (const id of ids) {
      const refused = await (await send("POST", `/api/actions/${id}/approve`, {})).json();
      proofs.set(id, person.sign(refused.challenge));
    }
    gate.clock.advance(59_000);
    for (const id of ids.reverse()) {
      const body = { proof: proofs.get(id) };
      expect((await send("POST", `/api/actions/${id}/approve`, body)).status).toBe(200);
    }
    expect(await gate.project.audit.verify()).toMatchObject({ ok: true, problem: null });
  });

  test("are valid in a ledger that was quiet for long, and after the clock was set back", async () => {
    const stage = await open();
    const { gate } = stage;
    for (const step of [30 * DAY, -60 * DAY, DAY]) {
      gate.clock.now += step;
      const id = await hold(gate, "write_file", { path: `${step}`, content: "x" });
      gate.clock.now += step / 1_000;
      expect((await approve(stage, id)).status).toBe(200);
    }
    expect(await gate.project.audit.verify()).toMatchObject({ ok: true, problem: null });
    await gate.reopen();
  });
});
