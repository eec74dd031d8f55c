import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { verifyFile } from "../../../cli/evidence/verify.ts";
import { redactEvent } from "../../../server/audit/redact.ts";
import type { NewEvent } from "../../../server/db/ledger.ts";
import { checkProofs } from "../../../server/evidence/check.ts";
import type { AuditEvent } from "../../../server/evidence/schema.ts";
import { LedgerProofs } from "../../../server/proof/ledger_check.ts";
import { NATIVE } from "../../../server/proof/signature.ts";
import { ensureEvidencePage } from "../../evidence_page.ts";
import { createTestGate, testCaller } from "../../helpers.ts";
import { approveTogether, fill } from "./decided.ts";
import { type Person, withPasskey, withPassphrase } from "./person.ts";

type Data = Record<string, unknown>;
type Mutation = (events: AuditEvent[]) => AuditEvent[];

const faultIn = async (events: AuditEvent[]) => await checkProofs(events, new LedgerProofs(NATIVE));

/** Changes the nth approval (from 0). */
const approval =
  (nth: number, change: (data: Data, all: AuditEvent[]) => Data): Mutation => (events) => {
    const approved = events.filter(({ type }) => type === "action.approved");
    return events.map((event) =>
      event === approved[nth] ? { ...event, data: change(event.data, approved) } : event
    );
  };
/** Changes the challenge in the proof of the nth approval. */
const challenge = (nth: number, changes: Data) =>
  approval(nth, (data) => {
    const proof = data.proof as { challenge: Data };
    return { ...data, proof: { ...proof, challenge: { ...proof.challenge, ...changes } } };
  });
const only = (type: string, change: (event: AuditEvent, nth: number) => AuditEvent | null) => {
  return (events: AuditEvent[]) => {
    let nth = 0;
    return events.flatMap((event) => event.type === type ? change(event, nth++) ?? [] : [event]);
  };
};

const PEOPLE: Record<string, () => Person> = {
  "a passphrase": withPassphrase,
  "a passkey with P-256": () => withPasskey("ES256"),
  "a passkey with Ed25519": () => withPasskey("Ed25519"),
  "a passkey with RSA": () => withPasskey("RS256"),
};
const ledgers = new Map<string, AuditEvent[]>();
let signedTogether: AuditEvent[];

beforeAll(async () => {
  for (const [name, create] of Object.entries(PEOPLE)) {
    const gate = await createTestGate({ proof: "none", policies: { defaultEffect: "ask" } });
    await fill(gate, create());
    ledgers.set(name, await gate.audit());
    await gate.close();
  }
  const gate = await createTestGate({ proof: "none", policies: { defaultEffect: "ask" } });
  const passkey = withPasskey();
  await fill(gate, passkey);
  expect(await approveTogether(gate, passkey, ["x.txt", "y.txt", "z.txt"])).toEqual([
    200,
    200,
    200,
  ]);
  signedTogether = await gate.audit();
  await gate.close();
});

describe.each(Object.keys(PEOPLE))("the check of a ledger decided with %s", (name) => {
  test("finds nothing in the ledger as it is", async () => {
    expect(await faultIn(ledgers.get(name)!)).toBeNull();
    expect(ledgers.get(name)!.filter(({ data }) => data.proof)).toHaveLength(12);
  });

  test.each<[string, Mutation, string]>([
    ["an approval without its proof", approval(1, ({ proof: _, ...data }) => data), "has no proof"],
    ["a proof that is null", approval(1, (data) => ({ ...data, proof: null })), "has no proof"],
    ["a proof that is a text", approval(1, (data) => ({ ...data, proof: "yes" })), "not valid"],
    ["an empty proof", approval(1, (data) => ({ ...data, proof: {} })), "not valid"],
    [
      "the proof of another action",
      approval(1, (data, all) => ({ ...data, proof: all[4]!.data.proof })),
      "not valid",
    ],
    ["another verb", challenge(1, { verb: "rollback" }), "not valid"],
    ["another digest", challenge(1, { digest: "0".repeat(64) }), "another version"],
    ["another person in the challenge", challenge(1, { member_id: "mallory" }), "another person"],
    ["another project in the challenge", challenge(1, { project_id: "x" }), "another project"],
    ["no project in the challenge", challenge(1, { project_id: null }), "not valid"],
    ["a head of another ledger", challenge(1, { head: "f".repeat(64) }), "not in this ledger"],
    ["no head", challenge(1, { head: null }), "not valid"],
    ["another nonce", challenge(1, { nonce: "n".repeat(43) }), "not valid"],
    ["a later expiry", challenge(1, { expires_at: "2030-01-01T00:00:00.000Z" }), "not valid"],
    [
      "a decision that the agent is said to have made under another digest",
      approval(1, (data) => ({ ...data, digest: "0".repeat(64) })),
      "another version",
    ],
    [
      "an edit that was not signed",
      only(
        "action.edited",
        (event) => ({ ...event, data: { ...event.data, sha256: "0".repeat(64) } }),
      ),
      "another version",
    ],
    ["an edit that is gone", only("action.edited", () => null), "another version"],
    [
      "an edit with another signed content",
      approval(2, (data) => ({
        ...data,
        asked: { ...data.asked as Data, content_sha256: "0".repeat(64) },
      })),
      "something else",
    ],
    [
      "a grant that was not signed",
      approval(3, ({ asked: _, ...data }) => data),
      "another version",
    ],
    [
      "a grant with more uses than were signed",
      only("grant.added", (event) => ({ ...event, data: { ...event.data, max_uses: 1000 } })),
      "adds a grant that nobody signed",
    ],
    [
      "a grant with a pattern that was not signed",
      only("grant.added", (event) => ({ ...event, data: { ...event.data, pattern: "**" } })),
      "adds a grant that nobody signed",
    ],
    [
      "a grant of an approval that asked for none",
      (all) => {
        const grant = all.find(({ type }) => type === "grant.added")!;
        const { action_id } = all.findLast(({ type }) => type === "action.approved")!;
        return [...all, { ...grant, action_id, seq: 999 }];
      },
      "adds a grant that nobody signed",
    ],
    ["no change of the key at all", only("proof.changed", () => null), "no key was enrolled"],
    [
      "the second change is gone",
      only("proof.changed", (event, nth) => nth === 1 ? null : event),
      "not valid",
    ],
    [
      "a change without its proof",
      only(
        "proof.changed",
        (event, nth) => nth === 1 ? { ...event, data: { ...event.data, proof: null } } : event,
      ),
      "did not prove it",
    ],
    [
      "a change to another key",
      only("proof.changed", (event, nth) =>
        nth === 1
          ? {
            ...event,
            data: { ...event.data, key: { ...event.data.key as Data, key_id: "x".repeat(43) } },
          }
          : event),
      "something else",
    ],
    [
      "a change that is nonsense",
      only("proof.changed", (event, nth) => nth === 1 ? { ...event, data: {} } : event),
      "changes the proof",
    ],
    [
      "the same approval twice",
      (all) => {
        const at = all.findIndex(({ type }) => type === "action.approved");
        return [...all.slice(0, at + 1), { ...all[at]!, seq: 999 }, ...all.slice(at + 1)];
      },
      "used before",
    ],
    [
      "a rollback said to be of another action",
      approval(5, (data) => ({ ...data, rollback_of: "0199a1b2-0000-7000-8000-000000000000" })),
      "another action",
    ],
    ["a rollback that does not say of what", approval(5, ({ asked: _, ...d }) => d), "not say"],
    [
      "a session's rollback in another session",
      (all) => {
        const last = all.findLast(({ type }) => type === "action.approved")!;
        return all.map((event) => event === last ? { ...event, session_id: "other" } : event);
      },
      "another session",
    ],
    [
      "a replay of another action",
      only("action.replayed", (event) => ({
        ...event,
        action_id: "0199a1b2-0000-7000-8000-000000000000",
      })),
      "another action",
    ],
    [
      "somebody else as the reviewer",
      (all) =>
        all.map((event) =>
          event.type === "action.approved"
            ? { ...event, actor: { kind: "reviewer" as const, id: "mallory" } }
            : event
        ),
      "another person",
    ],
  ])("finds %s", async (_, mutate, said) => {
    const fault = await faultIn(mutate(ledgers.get(name)!));
    expect(fault?.what).toContain(said);
    expect(fault?.seq).toBeGreaterThan(0);
  });

  test("finds each changed part of a signature", async () => {
    for (const nth of [0, 1, 2, 3, 4]) {
      const changed = approval(nth, (data) => ({ ...data, proof: withOtherSignature(data.proof) }));
      expect((await faultIn(changed(ledgers.get(name)!)))?.what).toContain("not valid");
    }
  });
});

function withOtherSignature(proof: unknown): unknown {
  const flip = (text: string) => (text.startsWith("A") ? "B" : "A") + text.slice(1);
  const record = proof as Data & { webauthn?: { response: Data } };
  if (!record.webauthn) return { ...record, signature: flip(String(record.signature)) };
  const { response } = record.webauthn;
  const signature = flip(String(response.signature));
  return { ...record, webauthn: { ...record.webauthn, response: { ...response, signature } } };
}

describe("the check of approvals that were signed together", () => {
  const isTogether = ({ data }: AuditEvent) =>
    (data.proof as Data | undefined)?.together !== undefined;
  /** Changes the first of the proofs; `all` are the approvals that were signed together. */
  const proofOf = (
    change: (proof: Data & { together: string[] }, all: AuditEvent[]) => Data,
  ): Mutation =>
  (events) => {
    const all = events.filter(isTogether);
    const [first] = all;
    return events.map((event) => {
      if (event !== first) return event;
      const proof = change(event.data.proof as Data & { together: string[] }, all);
      return { ...event, data: { ...event.data, proof } };
    });
  };

  test("finds nothing in the ledger as it is", async () => {
    expect(await faultIn(signedTogether)).toBeNull();
    const together = signedTogether.filter(({ data }) =>
      (data.proof as Data | undefined)?.together
    );
    expect(together).toHaveLength(3);
    expect(new Set(together.map(({ data }) => JSON.stringify((data.proof as Data).webauthn))).size)
      .toBe(1);
  });

  test.each<[string, Mutation, string]>([
    ["no list", proofOf(({ together: _, ...proof }) => proof), "another statement"],
    [
      "another order",
      proofOf((proof) => ({ ...proof, together: proof.together.toReversed() })),
      "another statement",
    ],
    [
      "a list without this approval",
      proofOf((proof) => ({ ...proof, together: proof.together.slice(1) })),
      "another statement",
    ],
    [
      "one more approval",
      proofOf((proof) => ({ ...proof, together: [...proof.together, "A".repeat(43)] })),
      "another statement",
    ],
    [
      "a proof of the same answer for another approval",
      proofOf((_, all) => all[1]!.data.proof as Data),
      "for another action",
    ],
    [
      "another digest",
      proofOf((proof) => ({ ...proof, challenge: { ...proof.challenge as Data, digest: "0" } })),
      "another version",
    ],
    ["a list that is a text", proofOf((proof) => ({ ...proof, together: "yes" })), "not valid"],
  ])("finds %s", async (_, mutate, said) => {
    expect((await faultIn(mutate(signedTogether)))?.what).toContain(said);
  });
});

describe("an approval that a program writes into a ledger past the gate", () => {
  test("is told by the daemon, and by the offline check of bundle and export", async () => {
    await ensureEvidencePage();
    const gate = await createTestGate({ proof: "none", policies: { defaultEffect: "ask" } });
    await fill(gate, withPasskey());
    const folder = mkdtempSync(join(tmpdir(), "gate-record-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const files = async () => {
      for (const format of ["bundle", "json"]) {
        const answer = await gate.request("GET", `/api/audit/export?format=${format}`);
        writeFileSync(join(folder, format), await answer.text());
      }
      return [
        await verifyFile(join(folder, "bundle"), {}),
        await verifyFile(join(folder, "json"), {}),
      ];
    };
    for (const whole of await files()) expect(whole).toMatchObject({ ok: true, problem: null });

    const { action } = await gate.project.actions.submit(
      { tool: "run_command", input: { command: "rm -rf build" } },
      testCaller("agent"),
    );
    await gate.project.ledger.commit({
      statements: [],
      events: [{
        session_id: action.session_id,
        action_id: action.id,
        type: "action.approved",
        actor: { kind: "reviewer", id: "reviewer" },
        data: { status: "approved", digest: action.digest },
      }],
    });
    const { seq } = gate.project.ledger.head;
    const what = `event ${seq} (action.approved) has no proof, although a key was enrolled`;
    const answer = await gate.request("GET", "/api/audit/verify");
    expect(await answer.json()).toMatchObject({ ok: false, problem: { seq, what } });
    for (const found of await files()) {
      expect(found).toMatchObject({ ok: false, problem: { seq, what } });
    }
  });

  test("is a fault only where a key was enrolled", async () => {
    const gate = await createTestGate({ policies: { defaultEffect: "ask" } });
    const { action } = await gate.project.actions.submit(
      { tool: "write_file", input: { path: "a", content: "x" } },
      testCaller("agent"),
    );
    expect((await gate.request("POST", `/api/actions/${action.id}/approve`, {})).status).toBe(200);
    expect(await gate.project.audit.verify()).toMatchObject({ ok: true, problem: null });
  });
});

describe("redaction", () => {
  const secret = `sk-${"A1".repeat(20)}`;
  const record = {
    kind: "passphrase",
    key_id: `sk-${"k".repeat(40)}`,
    challenge: {
      nonce: `sk-${"n".repeat(40)}`,
      expires_at: "2026-01-01T00:00:00.000Z",
      verb: "approve",
      project_id: "test",
      action_id: "a",
      digest: "0".repeat(64),
      member_id: "reviewer",
      head: null,
    },
    signature: `sk-${"s".repeat(83)}`,
  };
  const event = (type: NewEvent["type"], data: Data): NewEvent => ({
    session_id: null,
    action_id: null,
    type,
    data,
    actor: { kind: "reviewer", id: "reviewer" },
  });

  test("leaves a proof as it was signed, and masks everything beside it", () => {
    const { data } = redactEvent(event("action.approved", { proof: record, reason: secret }));
    expect(data).toEqual({ proof: record, reason: "[redacted]" });
  });

  test("leaves the key that a change names", () => {
    const key = {
      key_id: record.key_id,
      kind: "passphrase",
      member_id: "reviewer",
      public_key: `sk-${"p".repeat(40)}`,
      salt: `sk-${"a".repeat(20)}`,
      scrypt: { N: 131072, r: 8, p: 1 },
      created_at: "2026-01-01T00:00:00.000Z",
    };
    const change = {
      number: 1,
      kind: "passphrase",
      key,
      member_id: "reviewer",
      proof: null,
      at: "2026-01-01T00:00:00.000Z",
      before: { kind: "none", key_id: null },
      accepted_sha256: null,
      previous_sha256: null,
    };
    expect(redactEvent(event("proof.changed", change)).data).toEqual(change);
  });

  test.each<[string, unknown]>([
    ["a text", secret],
    ["a record with a field too many", { ...record, note: secret }],
    ["a record with a wrong field", { ...record, key_id: `${secret} ` }],
  ])("masks what only looks like a proof: %s", (_, proof) => {
    const { data } = redactEvent(event("action.approved", { proof }));
    expect(JSON.stringify(data)).not.toContain(secret);
  });
});
