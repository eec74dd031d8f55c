import Sqlite from "libsql";
import { copyFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { canonical } from "../../../server/evidence/canonical.ts";
import { digestOf } from "../../../server/proof/digest.ts";
import { changeAsked } from "../../../server/proof/history.ts";
import { createInvitation, loginAsked, signInvited } from "../../../server/proof/invitation.ts";
import { checkProofs } from "../../../server/evidence/check.ts";
import { LedgerProofs } from "../../../server/proof/ledger_check.ts";
import { NATIVE } from "../../../server/proof/signature.ts";
import type {
  Challenge,
  EnrolledKey,
  ProofChange,
  ProofRecord,
} from "../../../server/proof/schema.ts";
import { enrol, type Person, sendTo, withPassphrase } from "./person.ts";
import { TeamStage } from "./team_stage.ts";

const pathOf = ({ gate: { home } }: TeamStage, name: string) => join(home, name);
const LEDGER = join("projects", "test", "ledger.db");

/** Changes a database of the home as any program of the same user can. */
function edit(stage: TeamStage, name: string, sql: string, ...args: unknown[]): void {
  const database = new Sqlite(pathOf(stage, name));
  database.prepare(sql).run(...args);
  database.close();
}

function dropRegistry(stage: TeamStage): void {
  for (const end of ["", "-wal", "-shm"]) rmSync(pathOf(stage, `gate.db${end}`), { force: true });
}

const keepRegistry = (stage: TeamStage) =>
  copyFileSync(pathOf(stage, "gate.db"), pathOf(stage, "../gate.db"));

function restoreRegistry(stage: TeamStage): void {
  dropRegistry(stage);
  copyFileSync(pathOf(stage, "../gate.db"), pathOf(stage, "gate.db"));
}

async function changesOf(stage: TeamStage): Promise<ProofChange[]> {
  const events = (await stage.gate.audit()).filter(({ type }) => type === "proof.changed");
  return events.map(({ data }) => data as unknown as ProofChange);
}

/** Nobody decides, the owner neither, and the state is told. */
async function refuses(stage: TeamStage): Promise<string> {
  for (const who of ["reviewer", "ann"]) {
    const answer = await stage.approve(who, await stage.hold());
    expect([who, answer.status, answer.body.code]).toEqual([who, 403, "proof_required"]);
  }
  const { body } = await stage.ask("reviewer", "GET", "/api/proof");
  expect(body.problem).not.toBeNull();
  return body.problem;
}

/** The owner takes the home back with the home's key; the members' keys count again. */
async function takeBack(stage: TeamStage): Promise<void> {
  const next = withPassphrase();
  const owner = stage.keys.get("reviewer")!;
  expect((await enrol(sendTo(stage.gate), next, owner)).status).toBe(200);
  expect((await stage.approve("reviewer", await stage.hold(), next)).status).toBe(200);
  expect(await stage.verify()).toMatchObject({ ok: true, problem: null });
}

async function withAnn(): Promise<TeamStage> {
  const stage = await TeamStage.open();
  await stage.enrol("ann");
  return stage;
}

describe("members' keys are not weakened by files", () => {
  test("gate.db deleted", async () => {
    const stage = await withAnn();
    await stage.gate.reopen(() => dropRegistry(stage));
    expect(await refuses(stage)).toContain('"test" remembers a proof');
    const { body } = await stage.ask("ann", "GET", "/api/proof");
    expect(body.enrolled).toMatchObject([{ member_id: "reviewer" }, { member_id: "ann" }]);
    const input = await withPassphrase().enrolment(stage.as("ann"));
    expect((await stage.sign("ann", "POST", "/api/proof/set", input)).status).toBe(403);
    await takeBack(stage);
  });

  test("gate.db restored from before the member's key", async () => {
    const stage = await TeamStage.open();
    await stage.gate.reopen(() => keepRegistry(stage));
    await stage.enrol("ann");
    await stage.gate.reopen(() => restoreRegistry(stage));
    await refuses(stage);
    await takeBack(stage);
  });

  test("gate.db restored from before the member's key was removed", async () => {
    const stage = await withAnn();
    await stage.gate.reopen(() => keepRegistry(stage));
    await stage.sign("reviewer", "POST", "/api/proof/remove", { member_id: "ann" });
    await stage.gate.reopen(() => restoreRegistry(stage));
    await refuses(stage);
    await takeBack(stage);
    expect((await stage.approve("ann", await stage.hold())).status).toBe(403);
  });

  test("gate.db edited: another key in the place of the member's", async () => {
    const stage = await withAnn();
    const [, change] = await changesOf(stage);
    const stranger = withPassphrase();
    const { public_key, key_id } = stranger;
    const data = canonical({ ...change!, key: { ...change!.key!, public_key, key_id } });
    await stage.gate.reopen(() =>
      edit(stage, "gate.db", "UPDATE proof_changes SET data = ? WHERE number = 2", data)
    );
    expect(await refuses(stage)).toContain("the holder of the login link did not sign its key");
    expect((await stage.approve("ann", await stage.hold(), stranger)).status).toBe(403);
    await stage.gate.reopen(() => dropRegistry(stage));
    await takeBack(stage);
  });

  test("gate.db edited: the member's key erased", async () => {
    const stage = await withAnn();
    await stage.gate.reopen(() =>
      edit(stage, "gate.db", "DELETE FROM proof_changes WHERE number = 2")
    );
    await refuses(stage);
    await takeBack(stage);
  });
});

interface Forger {
  stage: TeamStage;
  changes: ProofChange[];
  /** The stranger's key, as a member's. */
  key: EnrolledKey;
  stranger: Person;
  signed(person: Person, challenge: Partial<Challenge>): ProofRecord;
}

async function link({ key, signed }: Forger, by: Person, member_id: string, role = key.role!) {
  const { seed, public_key: invitation } = await createInvitation();
  const asked = loginAsked({ member_id: key.member_id, role, invitation });
  const proof = signed(by, { verb: "issue_login", digest: digestOf(asked), member_id });
  return { proof, invited: await signInvited(seed, key) };
}

/** The changes that a stranger writes, and why each does not count. */
const FORGED: [string, string, (forger: Forger) => Promise<Partial<ProofChange>>][] = [
  ["without a proof", "no key that is enrolled proved it", () => Promise.resolve({})],
  [
    "with the proof of the first link",
    "its proof was used before",
    ({ changes: [, ann] }) => Promise.resolve({ proof: ann!.proof, invited: ann!.invited! }),
  ],
  [
    "with a link that the stranger signed",
    "no key that is enrolled proved it",
    (forger) => link(forger, forger.stranger, "reviewer"),
  ],
  [
    "with a link that a reviewer signed",
    "its key is a reviewer's",
    (forger) => link(forger, forger.stage.keys.get("ann")!, "ann"),
  ],
  [
    "with a link for a reviewer, as an admin's key",
    "its login link is for something else",
    async (forger) => ({
      ...await link(forger, forger.stage.keys.get("reviewer")!, "reviewer"),
      key: { ...forger.key, role: "admin" as const },
    }),
  ],
  [
    "with an old link",
    "its login link had expired",
    async (forger) => {
      const given = await link(forger, forger.stage.keys.get("reviewer")!, "reviewer");
      return { ...given, at: new Date(forger.stage.gate.clock.now + 3_600_000).toISOString() };
    },
  ],
  [
    "with a proof by the member of another deed",
    "its proof is for something else",
    ({ stage, signed, key }) =>
      Promise.resolve({
        holder: "ann",
        key: { ...key, member_id: "ann" },
        proof: signed(stage.keys.get("ann")!, { verb: "approve", member_id: "ann" }),
      }),
  ],
  [
    "by the member, with more rights",
    "it changes the rights of the key",
    ({ stage, signed, key }) => {
      const next = { ...key, member_id: "ann", role: "admin" as const };
      const digest = digestOf(changeAsked("passphrase", next, "ann"));
      const ann = stage.keys.get("ann")!;
      const proof = signed(ann, { verb: "change_proof", member_id: "ann", digest });
      return Promise.resolve({ holder: "ann", key: next, proof });
    },
  ],
  [
    "as a second key of the home's person",
    "the person of the home's key has no further one",
    (forger) =>
      link(forger, forger.stage.keys.get("reviewer")!, "reviewer")
        .then((given) => ({
          ...given,
          holder: "reviewer",
          key: { ...forger.key, member_id: "reviewer" },
        })),
  ],
  [
    "that ends a member's key, by another reviewer",
    "neither the member nor an admin proved it",
    ({ stage, signed }) => {
      const digest = digestOf(changeAsked("none", null, "ben"));
      const ann = stage.keys.get("ann")!;
      const proof = signed(ann, { verb: "remove_proof", member_id: "ann", digest });
      return Promise.resolve({ kind: "none", key: null, proof });
    },
  ],
  [
    "that changes the accepted configs",
    "it changes the accepted configs",
    async (forger) => ({
      ...await link(forger, forger.stage.keys.get("reviewer")!, "reviewer"),
      accepted_sha256: "0".repeat(64),
    }),
  ],
];

describe("a key that a stranger writes", () => {
  test.each(FORGED)("%s is no key: %s", async (_, why, forge) => {
    const stage = await withAnn();
    const changes = await changesOf(stage);
    const last = changes.at(-1)!;
    const stranger = withPassphrase();
    const { public_key, key_id } = stranger;
    const key = { ...last.key!, member_id: "ben", public_key, key_id };
    const signed = (person: Person, given: Partial<Challenge>): ProofRecord => {
      const challenge = {
        ...last.proof!.challenge,
        nonce: crypto.randomUUID().replaceAll("-", "").padEnd(43, "x"),
        ...given,
      };
      const { nonce: _, ...proof } = person.sign(challenge);
      return { ...proof, challenge };
    };
    const { invited: _invited, ...base } = last;
    const change = {
      ...base,
      number: 3,
      member_id: "ben",
      holder: "ben",
      key,
      previous_sha256: digestOf(last),
      proof: null,
      ...await forge({ stage, changes, key, stranger, signed }),
    };
    const holder = changes.findLast((one) => one.holder === change.holder);
    const before = { kind: holder?.kind ?? "none", key_id: holder?.key?.key_id ?? null };
    const data = canonical({ ...change, before });
    const events = await stage.gate.audit();
    const event = { ...events.at(-1)!, type: "proof.changed" as const, data: JSON.parse(data) };
    const fault = await checkProofs([...events, event], new LedgerProofs(NATIVE));
    expect(fault).toMatchObject({ what: expect.stringContaining(why) });
    const insert = "INSERT INTO proof_changes (number, data) VALUES (3, ?)";
    await stage.gate.reopen(() => edit(stage, "gate.db", insert, data));
    expect(await refuses(stage)).toContain(why);
    expect((await stage.approve("ben", await stage.hold(), stranger)).status).toBe(403);
    await stage.gate.reopen(() => dropRegistry(stage));
    await takeBack(stage);
  });

  test("into a ledger: the home refuses until a person looks", async () => {
    const stage = await withAnn();
    const [, change] = await changesOf(stage);
    const { public_key, key_id } = withPassphrase();
    const key = { ...change!.key!, member_id: "ben", public_key, key_id };
    const forged = {
      ...change!,
      number: 3,
      holder: "ben",
      key,
      previous_sha256: digestOf(change),
    };
    await stage.gate.reopen(() => appendEvent(stage, "proof.changed", forged, "ben"));
    await refuses(stage);
    expect(await stage.verify()).toMatchObject({ ok: false });
  });
});

/** Appends an event behind the daemon's back, as a copy of the newest one of this type. */
function appendEvent(stage: TeamStage, type: string, data: object, actor: string): void {
  edit(
    stage,
    LEDGER,
    `INSERT INTO audit (project_id, seq, at, session_id, action_id, type, actor, data, prev_hash, hash)
      SELECT project_id, (SELECT max(seq) + 1 FROM audit), (SELECT max(at) FROM audit), session_id,
        action_id, type, json_object('kind', 'reviewer', 'id', ?), ?,
        (SELECT hash FROM audit ORDER BY seq DESC LIMIT 1), lower(hex(randomblob(32)))
      FROM audit WHERE type = ? ORDER BY seq DESC LIMIT 1`,
    actor,
    canonical(data),
    type,
  );
}

describe("a vote that a stranger writes", () => {
  const have = async (stage: TeamStage, id: string) =>
    (await stage.ask("ben", "GET", `/api/actions/${id}/status`)).body.approvals.have;

  test("the owner's second signature is no vote of another member", async () => {
    const stage = await withAnn();
    await stage.route();
    const id = await stage.hold();
    expect((await stage.approve("reviewer", id)).status).toBe(202);
    const vote = (await stage.gate.audit()).findLast(({ type }) => type === "vote.cast")!;
    for (const actor of ["ann", "reviewer"]) {
      await stage.gate.reopen(() =>
        appendEvent(stage, "vote.cast", { ...vote.data, member_id: "ann" }, actor)
      );
      expect(await have(stage, id)).toBe(1);
    }
  });

  test("with a key that was removed, or one that never was, does not count", async () => {
    const stage = await withAnn();
    await stage.route();
    const id = await stage.hold();
    const stolen = stage.keys.get("ann")!;
    expect((await stage.approve("reviewer", id)).status).toBe(202);
    const vote = (await stage.gate.audit()).findLast(({ type }) => type === "vote.cast")!;
    const removed = await stage.sign("reviewer", "POST", "/api/proof/remove", { member_id: "ann" });
    expect(removed.status).toBe(200);
    // A reviewer without a key still is in the team, so only the signature can tell.
    stage.gate.clock.advance(120_000);
    const head = (await stage.gate.audit()).at(-1)!.hash;
    for (const person of [stolen, withPassphrase()]) {
      const { challenge } = vote.data.proof as ProofRecord;
      const later = new Date(stage.gate.clock.now + 60_000).toISOString();
      const nonce = crypto.randomUUID().replaceAll("-", "").padEnd(43, "y");
      const own = { ...challenge, nonce, member_id: "ann", expires_at: later, head };
      const { nonce: _, ...proof } = person.sign(own);
      const data = { ...vote.data, member_id: "ann", proof: { ...proof, challenge: own } };
      await stage.gate.reopen(() => {
        appendEvent(stage, "vote.cast", data, "ann");
        const at = new Date(stage.gate.clock.now).toISOString();
        edit(stage, LEDGER, "DROP TRIGGER IF EXISTS audit_no_update");
        edit(stage, LEDGER, "UPDATE audit SET at = ? WHERE seq = (SELECT max(seq) FROM audit)", at);
      });
      expect(await have(stage, id)).toBe(1);
    }
  });
});
