import { describe, expect, test } from "vitest";
import { checkProofs } from "../../../server/evidence/check.ts";
import { createInvitation, INVITATION_MS } from "../../../server/proof/invitation.ts";
import { LedgerProofs } from "../../../server/proof/ledger_check.ts";
import { NATIVE } from "../../../server/proof/signature.ts";
import { enrol, sendTo, withPasskey, withPassphrase } from "./person.ts";
import { type Answer, TeamStage } from "./team_stage.ts";

const detail = ({ status, body }: Answer) => [status, String(body.detail)];
const contains = (status: number, text: string) => [status, expect.stringContaining(text)];

describe("a member's own key", () => {
  test.each([["passphrase", withPassphrase], ["passkey", withPasskey]] as const)(
    "a %s is enrolled with the login link, counts in a quorum, and is in the ledger",
    async (kind, create) => {
      const stage = await TeamStage.open();
      const { gate } = stage;
      const seed = await stage.invite("ann");
      const answer = await stage.join("ann", seed, create());
      expect(answer.body).toMatchObject({
        kind: "passphrase",
        member_id: "ann",
        enrolled: [{ member_id: "reviewer" }, { member_id: "ann", kind, role: "reviewer" }],
      });
      await stage.route();
      const id = await stage.hold();
      expect(await stage.approve("reviewer", id)).toMatchObject({ status: 202 });
      expect(await stage.approve("reviewer", id)).toMatchObject({ status: 202 });
      expect(await stage.approve("ann", id)).toMatchObject({
        status: 200,
        body: { status: "approved", decided_by: "ann", execution: "succeeded" },
      });
      const changes = (await gate.audit()).filter(({ type }) => type === "proof.changed");
      expect(changes.map(({ actor, data }) => [actor.id, data.holder])).toEqual([
        ["reviewer", undefined],
        ["ann", "ann"],
      ]);
      expect(changes[1]!.data.proof).toMatchObject({
        challenge: { verb: "issue_login", member_id: "reviewer" },
      });
      expect(await stage.verify()).toMatchObject({ ok: true, problem: null });
      await gate.reopen();
      const next = await stage.hold();
      await stage.approve("ann", next);
      expect(await stage.approve("reviewer", next)).toMatchObject({ status: 200 });
      expect(await stage.verify()).toMatchObject({ ok: true, problem: null });
    },
  );

  test("a decision counts for a member only with that member's key", async () => {
    const stage = await TeamStage.open();
    await stage.enrol("ann", "ben");
    await stage.route();
    const id = await stage.hold();
    const keys = stage.keys;
    for (const [who, whose] of [["ann", "reviewer"], ["ann", "ben"], ["reviewer", "ann"]]) {
      const answer = await stage.approve(who!, id, keys.get(whose!));
      expect(detail(answer)).toEqual(contains(403, "the proof does not fit"));
    }
    expect((await stage.ask("x", "GET", `/api/actions/${id}/status`)).body.approvals)
      .toEqual({ need: 2, have: 0 });
    expect((await stage.approve("ben", id)).status).toBe(202);
    expect((await stage.approve("ann", id)).body).toMatchObject({ decided_by: "ann" });
  });

  test("a member changes their passphrase with the present one, and keeps their rights", async () => {
    const stage = await TeamStage.open();
    await stage.enrol("ann");
    const next = withPassphrase();
    const input = await next.enrolment(stage.as("ann"));
    const wrong = await stage.sign("ann", "POST", "/api/proof/set", input, withPassphrase());
    expect(wrong.status).toBe(403);
    const changed = await stage.sign("ann", "POST", "/api/proof/set", input);
    expect(changed.body.enrolled[1]).toMatchObject({ key_id: next.key_id, role: "reviewer" });
    const id = await stage.hold();
    expect((await stage.approve("ann", id)).status).toBe(403);
    expect((await stage.approve("ann", id, next)).status).toBe(200);
    expect(await stage.verify()).toMatchObject({ ok: true, problem: null });
  });

  test("an admin removes and resets a member's key; their earlier votes stay", async () => {
    const stage = await TeamStage.open();
    await stage.enrol("ann", "ben");
    await stage.route();
    const id = await stage.hold();
    expect((await stage.approve("ann", id)).status).toBe(202);
    const path = "/api/proof/remove";
    const byBen = await stage.sign("ben", "POST", path, { member_id: "ann" });
    expect(detail(byBen)).toEqual(contains(403, "an admin must do it"));
    const removed = await stage.sign("reviewer", "POST", path, { member_id: "ann" });
    expect(removed.body.enrolled.map(({ member_id }: { member_id: string }) => member_id))
      .toEqual(["reviewer", "ben"]);
    expect(detail(await stage.approve("ann", await stage.hold())))
      .toEqual(contains(403, "you have no key of your own"));
    const again = await stage.sign("reviewer", "POST", path, { member_id: "ann" });
    expect(detail(again)).toEqual(contains(409, "no key of their own"));
    expect((await stage.approve("ben", id)).status).toBe(200);
    await stage.enrol("ann");
    expect((await stage.approve("ann", await stage.hold())).status).toBe(202);
    const own = await stage.sign("ann", "POST", path);
    expect([own.status, own.body.enrolled.length]).toEqual([200, 2]);
    expect(await stage.verify()).toMatchObject({ ok: true, problem: null });
  });

  test("the person of the home's key keeps the one they have", async () => {
    const stage = await TeamStage.open();
    await stage.enrol("ann");
    const next = withPassphrase();
    const input = await next.enrolment(stage.as("reviewer"));
    expect((await stage.sign("reviewer", "POST", "/api/proof/set", input)).body.enrolled)
      .toMatchObject([{ key_id: next.key_id }, { member_id: "ann" }]);
    stage.keys.set("reviewer", next);
    expect((await stage.approve("ann", await stage.hold())).status).toBe(200);
    expect((await stage.sign("reviewer", "POST", "/api/proof/remove")).body)
      .toMatchObject({ kind: "none" });
    expect(detail(await stage.approve("ann", await stage.hold())))
      .toEqual(contains(403, "no proof is set up"));
    expect(await stage.verify()).toMatchObject({ ok: true, problem: null });
  });
});

describe("a key is not enrolled", () => {
  test("without a link", async () => {
    const stage = await TeamStage.open();
    const input = await withPassphrase().enrolment(stage.as("ann"));
    const answer = await stage.sign("ann", "POST", "/api/proof/set", input, withPassphrase());
    expect([answer.status, answer.body.code, answer.body.challenge])
      .toEqual([403, "proof_required", undefined]);
  });

  const USED = "its login link was used already or has expired";

  test("with a link that nobody created, of another member, used, replaced or expired", async () => {
    const stage = await TeamStage.open();
    const { seed: invented } = await createInvitation();
    expect(detail(await stage.join("ann", invented))).toEqual(contains(409, USED));
    const forBen = await stage.invite("ben");
    expect(detail(await stage.join("ann", forBen))).toEqual(contains(409, USED));
    const replaced = await stage.invite("ann");
    const seed = await stage.invite("ann");
    expect(detail(await stage.join("ann", replaced))).toEqual(contains(409, USED));
    expect((await stage.join("ann", seed)).status).toBe(200);
    expect(detail(await stage.join("ann", seed))).toEqual(contains(409, USED));
    const late = await stage.invite("ben");
    stage.gate.clock.advance(INVITATION_MS + 1);
    expect(detail(await stage.join("ben", late))).toEqual(contains(409, USED));
    const lost = await stage.invite("ben");
    await stage.gate.reopen();
    expect(detail(await stage.join("ben", lost))).toEqual(contains(409, USED));
  });

  test("by somebody who has seen the link's public key only", async () => {
    const stage = await TeamStage.open();
    const { public_key } = await createInvitation();
    const path = "/api/team/members/ann/login-code";
    await stage.sign("reviewer", "POST", path, { role: "reviewer", invitation: public_key });
    const input = await withPassphrase().enrolment(stage.as("ann"));
    const invited = { public_key, signature: "A".repeat(86) };
    const answer = await stage.ask("ann", "POST", "/api/proof/set", { ...input, invited });
    expect(detail(answer)).toEqual(contains(400, "the holder of the login link did not sign"));
  });

  test("after the member lost their role, or the home's key changed", async () => {
    const stage = await TeamStage.open({ ann: "admin", ben: "reviewer" });
    const asAdmin = await stage.invite("ann", "admin");
    await stage.sign("reviewer", "PATCH", "/api/team/members/ann", { role: "reviewer" });
    expect(detail(await stage.join("ann", asAdmin))).toEqual(
      contains(403, "your role is reviewer"),
    );
    const asMember = await stage.invite("ben");
    await stage.sign("reviewer", "DELETE", "/api/team/members/ben");
    expect(detail(await stage.join("ben", asMember))).toEqual(contains(403, "not in the team"));
    const before = await stage.invite("ann");
    const next = withPassphrase();
    await enrol(sendTo(stage.gate), next, stage.keys.get("reviewer"));
    expect(detail(await stage.join("ann", before)))
      .toEqual(contains(400, "no key that is enrolled proved it"));
  });

  test("for a viewer, or with another role than the member has", async () => {
    const stage = await TeamStage.open({ vic: "viewer", ann: "reviewer" });
    const { public_key: invitation } = await createInvitation();
    const link = (id: string, body: object) =>
      stage.sign("reviewer", "POST", `/api/team/members/${id}/login-code`, body);
    expect((await link("vic", { role: "viewer", invitation })).status).toBe(400);
    expect(detail(await link("vic", { role: "reviewer", invitation })))
      .toEqual(contains(409, 'the role of "vic" is viewer'));
    expect((await link("ann", { role: "admin", invitation })).status).toBe(409);
    expect((await link("ann", { invitation })).status).toBe(400);
    expect((await link("ann", {})).status).toBe(201);
  });

  test("that lets the token decide, or takes the place of the home's", async () => {
    const stage = await TeamStage.open({ ann: "admin" });
    await stage.join("ann", await stage.invite("ann", "admin"));
    const token = await stage.sign("ann", "POST", "/api/proof/set", { kind: "token" });
    expect(detail(token)).toEqual(contains(403, "only the person of the home's key"));
    const home = await stage.sign("ann", "POST", "/api/proof/remove", { member_id: "reviewer" });
    expect(detail(home)).toEqual(contains(403, "only the person who enrolled the home's key"));
    expect((await stage.ask("ann", "GET", "/api/proof")).body.kind).toBe("passphrase");
  });
});

describe("the rights of a key", () => {
  const DEEDS: [string, string, object][] = [
    ["POST", "/api/team/members", { name: "Eve" }],
    ["POST", "/api/approval-routes", { name: "One", approvers: { role: "reviewer" } }],
    ["POST", "/api/team/members/ann/login-code", {}],
    ["PUT", "/api/config/policies", { defaultEffect: "allow" }],
  ];

  test("a reviewer's key changes neither rules nor people; an admin's does", async () => {
    const stage = await TeamStage.open({ ann: "reviewer", ada: "admin" });
    await stage.enrol("ann");
    await stage.join("ada", await stage.invite("ada", "admin"));
    for (const [method, path, body] of DEEDS) {
      const refused = await stage.sign("ann", method, path, body);
      expect([path, refused.status, refused.body.code]).toEqual([path, 403, "forbidden"]);
      const done = await stage.sign("ada", method, path, body);
      expect([path, done.status < 300]).toEqual([path, true]);
    }
    expect(await stage.verify()).toMatchObject({ ok: true, problem: null });
    await stage.gate.reopen();
    const { body: { items, problem } } = await stage.ask("ada", "GET", "/api/approval-routes");
    expect([items.length, problem]).toEqual([1, null]);
  });

  test("an admin who becomes a reviewer loses them at once; a reviewer's key gains none", async () => {
    const stage = await TeamStage.open({ ann: "reviewer", ada: "admin" });
    await stage.enrol("ann");
    await stage.join("ada", await stage.invite("ada", "admin"));
    await stage.sign("reviewer", "PATCH", "/api/team/members/ada", { role: "reviewer" });
    await stage.sign("reviewer", "PATCH", "/api/team/members/ann", { role: "admin" });
    const policies = { defaultEffect: "allow" };
    expect(detail(await stage.sign("ada", "PUT", "/api/config/policies", policies)))
      .toEqual(contains(403, "your role is reviewer"));
    expect(detail(await stage.sign("ann", "PUT", "/api/config/policies", policies)))
      .toEqual(contains(403, "your key is from before you were an admin"));
    expect((await stage.join("ann", await stage.invite("ann", "admin"))).status).toBe(200);
    expect((await stage.sign("ann", "PUT", "/api/config/policies", policies)).status).toBe(200);
  });

  test("an admin's link enrols a key; the chain of signatures is checked", async () => {
    const stage = await TeamStage.open({ ann: "reviewer", ada: "admin" });
    await stage.join("ada", await stage.invite("ada", "admin"));
    expect((await stage.join("ann", await stage.invite("ann", "reviewer", "ada"))).status).toBe(
      200,
    );
    expect((await stage.approve("ann", await stage.hold())).status).toBe(200);
    const events = await stage.gate.audit();
    expect(await checkProofs(events, new LedgerProofs(NATIVE))).toBeNull();
  });

  test("a key of a person who left the team decides nothing, and is told", async () => {
    const stage = await TeamStage.open();
    await stage.enrol("ann");
    await stage.sign("reviewer", "DELETE", "/api/team/members/ann");
    expect((await stage.approve("ann", await stage.hold())).status).toBe(403);
    expect((await stage.gate.daemon.status()).problems.join())
      .toContain("gate proof remove --member ann");
  });
});

describe("X-Gate-Member: a terminal names the person who decides", () => {
  const send = async (stage: TeamStage, path: string, as: string, signer?: string) => {
    const post = (body: object) =>
      stage.gate.request("POST", path, body, "reviewer", { "x-gate-member": as });
    const first = await post({});
    const body = await first.clone().json();
    if (!body.challenge || !signer) return { status: first.status, body };
    const proof = stage.keys.get(signer)!.sign(body.challenge);
    const second = await post({ proof });
    return { status: second.status, body: await second.json() };
  };

  test("their key signs, so the decision is theirs; another key is refused", async () => {
    const stage = await TeamStage.open();
    await stage.enrol("ann");
    await stage.route();
    const id = await stage.hold();
    const path = `/api/actions/${id}/approve`;
    expect((await send(stage, path, "ann", "reviewer")).status).toBe(403);
    expect((await send(stage, path, "ann", "ann")).status).toBe(202);
    expect((await send(stage, path, "reviewer", "reviewer")).body)
      .toMatchObject({ status: "approved", decided_by: "reviewer" });
    const votes = (await stage.gate.audit()).filter(({ type }) => type === "vote.cast");
    expect(votes.map(({ actor }) => actor.id)).toEqual(["ann", "reviewer"]);
  });

  test("refused where nobody would sign, for people without a key, and for other callers", async () => {
    const stage = await TeamStage.open();
    await stage.enrol("ann");
    const id = await stage.hold();
    const approve = `/api/actions/${id}/approve`;
    const table: [string, string, number, string][] = [
      [`/api/actions/${id}/reject`, "ann", 400, "needs no signature"],
      ["/api/auth/login-code", "ann", 400, "needs no signature"],
      [approve, "ben", 403, '"ben" has no key'],
      [approve, "nobody", 403, '"nobody" has no key'],
      [approve, "a b", 400, "no member's id"],
      [approve, "", 400, "no member's id"],
    ];
    for (const [path, as, status, why] of table) {
      expect(detail(await send(stage, path, as))).toEqual(contains(status, why));
    }
    const page = { ...(await import("../../helpers.ts")).testCaller("reviewer", "ann") };
    const answer = await stage.gate.request("POST", approve, {}, { ...page, via: "page" }, {
      "x-gate-member": "reviewer",
    });
    expect([answer.status, (await answer.json()).detail])
      .toEqual(contains(403, "your page is logged in"));
    const agent = await stage.gate.request("POST", approve, {}, "agent", {
      "x-gate-member": "ann",
    });
    expect(agent.status).toBe(403);
    expect((await stage.gate.project.actions.list({ limit: 5 })).items[0]!.status).toBe("pending");
  });
});
