import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { withProof } from "../../../server/client.ts";
import type { Challenge } from "../../../server/proof/schema.ts";
import { type Body, TeamStage } from "../proof/team_stage.ts";
import { openStage, TWO_OF_THREE } from "./stage.ts";

const APPROVE = "/api/approvals/approve";
const REJECT = "/api/approvals/reject";
const NOBODY = "00000000-0000-4000-8000-000000000000";
const DIGEST = "0".repeat(64);

/** The decisions of a person who has seen these actions. */
async function seenBy(stage: TeamStage, ids: string[]): Promise<Body[]> {
  return await Promise.all(ids.map(async (id) => {
    const { body } = await stage.ask("reviewer", "GET", `/api/actions/${id}`);
    return { id, expected_digest: body.digest };
  }));
}

/** Sends several decisions, signs each challenge, and sends them again. */
async function signAll(stage: TeamStage, who: string, items: Body[], sign = who) {
  const first = await stage.ask(who, "POST", APPROVE, { items });
  const challenges = first.body.challenges as (Challenge | null)[] | undefined;
  if (!challenges) return first;
  const proof = challenges.map((one) => one && stage.keys.get(sign)!.sign(one));
  const sent = { items, proof };
  const answer = await stage.gate.request("POST", APPROVE, sent, callerOf(who));
  return { status: answer.status, body: await answer.json() as Body };
}

function callerOf(id: string) {
  return { scope: "reviewer" as const, id, member_id: id, via: "page" as const, proof: null };
}

const outcomesOf = ({ outcomes }: Body) => outcomes.map((one: Body) => one.outcome);

test("several actions are approved with one signature for each, in one request", async () => {
  const stage = await TeamStage.open();
  const ids = [await stage.hold("a.txt"), await stage.hold("b.txt"), await stage.hold("c.txt")];
  const items = await seenBy(stage, ids);
  const before = await stage.gate.audit();
  const asked = await stage.ask("reviewer", "POST", APPROVE, { items });
  expect([asked.status, asked.body.code]).toEqual([403, "proof_required"]);
  expect(asked.body.challenges.map((one: Challenge) => [one.action_id, one.digest, one.verb]))
    .toEqual(items.map(({ id, expected_digest }) => [id, expected_digest, "approve"]));
  expect(await stage.gate.audit()).toEqual(before);
  const { status, body } = await signAll(stage, "reviewer", items);
  expect([status, outcomesOf(body)]).toEqual([200, ["approved", "approved", "approved"]]);
  expect(body.outcomes.map(({ id }: Body) => id)).toEqual(ids);
  for (const file of ["a.txt", "b.txt", "c.txt"]) {
    expect(existsSync(join(stage.gate.root, file))).toBe(true);
  }
  const approved = (await stage.gate.audit()).filter(({ type }) => type === "action.approved");
  expect(approved.map(({ action_id, data }) => [action_id, (data.proof as Body).challenge.digest]))
    .toEqual(items.map(({ id, expected_digest }) => [id, expected_digest]));
  expect(await stage.verify()).toMatchObject({ ok: true, problem: null });
});

test("each action has an outcome of its own: a refused one stops no other", async () => {
  const stage = await TeamStage.open();
  const ids = [await stage.hold("1"), await stage.hold("2"), await stage.hold("3")];
  const [one, two, three] = await seenBy(stage, ids);
  await stage.ask("reviewer", "POST", `/api/actions/${two.id}/reject`, { reason: "no" });
  const items = [
    one,
    two,
    { ...three, expected_digest: DIGEST },
    { id: NOBODY, expected_digest: DIGEST },
  ];
  const { status, body } = await signAll(stage, "reviewer", items);
  expect(status).toBe(200);
  expect(body.outcomes.map(({ outcome, problem }: Body) => [outcome, problem?.code ?? null]))
    .toEqual([
      ["approved", null],
      ["refused", "conflict"],
      ["refused", "digest_mismatch"],
      ["refused", "not_found"],
    ]);
  expect(body.outcomes[1].problem).toMatchObject({ status: 409, current_status: "rejected" });
  expect((await stage.ask("reviewer", "GET", `/api/actions/${three.id}`)).body.status)
    .toBe("pending");
});

test("a proof counts only for the action that it was signed for", async () => {
  const stage = await TeamStage.open();
  const items = await seenBy(stage, [await stage.hold("x"), await stage.hold("y")]);
  const { body } = await stage.ask("reviewer", "POST", APPROVE, { items });
  const [first, second] = body.challenges.map((one: Challenge) =>
    stage.keys.get("reviewer")!.sign(one)
  );
  const send = async (proofs: unknown[]) => {
    const sent = { items, proof: proofs };
    const answer = await stage.gate.request("POST", APPROVE, sent, callerOf("reviewer"));
    return { status: answer.status, body: await answer.json() as Body };
  };
  const swapped = await send([second, first]);
  expect([swapped.status, outcomesOf(swapped.body)]).toEqual([200, ["refused", "refused"]]);
  expect(swapped.body.outcomes[0].problem.code).toBe("proof_required");
  const replayed = await send([first, second]);
  expect(outcomesOf(replayed.body)).toEqual(["refused", "refused"]);
  const few = await send([null]);
  expect([few.status, few.body.code]).toEqual([400, "invalid"]);
  for (const wrong of [[], ["x"], [{ ...first, kind: "x" }], Array(26).fill(null)]) {
    expect((await send(wrong)).status).toBe(400);
  }
  expect((await stage.gate.audit()).some(({ type }) => type === "action.approved")).toBe(false);
});

test("a member signs with their own key, and each vote counts for them", async () => {
  const stage = await TeamStage.open({ ann: "reviewer", ben: "reviewer", vic: "viewer" });
  await stage.enrol("ann", "ben");
  await stage.route();
  const items = await seenBy(stage, [await stage.hold("m1"), await stage.hold("m2")]);
  const foreign = await signAll(stage, "ann", items, "ben");
  expect(outcomesOf(foreign.body)).toEqual(["refused", "refused"]);
  const voted = await signAll(stage, "ann", items);
  expect(voted.body.outcomes).toMatchObject([
    { outcome: "voted", action: { status: "pending", approvals: { need: 2, have: 1 } } },
    { outcome: "voted" },
  ]);
  // A second vote changes nothing and needs no signature.
  const again = await stage.ask("ann", "POST", APPROVE, { items });
  expect([again.status, outcomesOf(again.body)]).toEqual([200, ["voted", "voted"]]);
  const decided = await signAll(stage, "ben", items);
  expect(outcomesOf(decided.body)).toEqual(["approved", "approved"]);
  expect((await stage.ask("vic", "POST", APPROVE, { items })).status).toBe(403);
  expect(await stage.verify()).toMatchObject({ ok: true });
});

test("of 20 requests about the same actions at once each action is approved once", async () => {
  const { gate, ask, hold } = await openStage(TWO_OF_THREE);
  const held = await Promise.all(Array.from({ length: 5 }, () => hold()));
  const items = held.map(({ id, digest }) => ({ id, expected_digest: digest }));
  const who = ["ann", "ben", "cy"];
  const turned = (by: number) => [...items.slice(by), ...items.slice(0, by)];
  const answers = await Promise.all(
    Array.from(
      { length: 20 },
      (_, i) => ask(who[i % 3]!, "POST", APPROVE, { items: turned(i % 5) }),
    ),
  );
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  const all = answers.flatMap(({ body }) => body.outcomes);
  const audit = await gate.audit();
  for (const { id } of items) {
    expect(all.filter((one) => one.id === id && one.outcome === "approved")).toHaveLength(1);
    const events = audit.filter((event) => event.action_id === id).map(({ type }) => type);
    expect(events).toEqual([
      "action.submitted",
      "vote.cast",
      "vote.cast",
      "action.approved",
      "action.started",
      "action.finished",
    ]);
  }
  const late = all.filter(({ outcome }) => outcome === "refused");
  expect(new Set(late.map(({ problem }) => problem.code))).toEqual(new Set(["conflict"]));
});

test("several are rejected by their digests; a changed one stays held", async () => {
  const { gate, ask, hold } = await openStage(TWO_OF_THREE);
  const [one, two] = [await hold(), await hold()];
  const items = [
    { id: one.id, expected_digest: one.digest },
    { id: two.id, expected_digest: DIGEST },
  ];
  const { status, body } = await ask("ann", "POST", REJECT, { items, reason: "not today" });
  expect([status, outcomesOf(body)]).toEqual([200, ["rejected", "refused"]]);
  expect(body.outcomes[0].action).toMatchObject({ decided_by: "ann", reason: "not today" });
  expect((await gate.audit()).filter(({ type }) => type === "action.rejected")).toHaveLength(1);
  expect((await ask("ann", "GET", `/api/actions/${two.id}`)).body.status).toBe("pending");
});

test("an action that asks to type a text is approved only with it", async () => {
  const { ask, gate } = await openStage({ approvers: { members: ["ann"] } });
  const approvals = { proof: "token", type_to_confirm: "critical" };
  writeFileSync(join(gate.home, "config.json"), JSON.stringify({ approvals }));
  const command = "terraform apply -auto-approve -var-file=prod.tfvars";
  const sent = { tool: "run_command", input: { command } };
  const { id } = await (await gate.request("POST", "/api/actions", sent, "agent")).json() as Body;
  const { body: { digest, confirmation } } = await ask("ann", "GET", `/api/actions/${id}`);
  const approve = async (confirm?: string) => {
    const items = [{ id, expected_digest: digest, ...confirm !== undefined && { confirm } }];
    return (await ask("ann", "POST", APPROVE, { items })).body.outcomes[0];
  };
  expect(await approve()).toMatchObject({ outcome: "refused", problem: { status: 400 } });
  expect(await approve("another")).toMatchObject({ outcome: "refused" });
  expect(await approve(confirmation)).toMatchObject({ outcome: "approved" });
});

const ITEM = { id: NOBODY, expected_digest: DIGEST };

test.each([
  ["no body", null],
  ["no items", {}],
  ["an empty list", { items: [] }],
  ["too many", { items: Array.from({ length: 26 }, (_, i) => ({ ...ITEM, id: `${i}` })) }],
  ["an action twice", { items: [ITEM, ITEM] }],
  ["no digest", { items: [{ id: NOBODY }] }],
  ["an id that is no text", { items: [{ ...ITEM, id: 1 }] }],
  ["a huge id", { items: [{ ...ITEM, id: "x".repeat(100_000) }] }],
  ["an unknown key", { items: [{ ...ITEM, force: true }] }],
  ["a reason that is no text", { items: [ITEM], reason: {} }],
])("%s is a clear error for both", async (_, body) => {
  const { ask } = await openStage(TWO_OF_THREE);
  for (const path of [APPROVE, REJECT]) {
    const answer = await ask("ann", "POST", path, body);
    expect([path, answer.status, answer.body.code]).toEqual([path, 400, "invalid"]);
    expect(answer.body.detail).toMatch(/^Cannot /);
  }
});

test("an agent and a viewer decide nothing", async () => {
  const { gate } = await openStage(TWO_OF_THREE);
  for (const scope of ["agent", "viewer"] as const) {
    for (const path of [APPROVE, REJECT]) {
      expect((await gate.request("POST", path, { items: [ITEM] }, scope)).status).toBe(403);
    }
  }
});

test("a client signs only challenges about the actions that its request names", async () => {
  const id = "11111111-1111-4111-8111-111111111111";
  const challenge = (action_id: string, digest: string) => ({
    nonce: "n".repeat(43),
    expires_at: new Date(Date.now() + 60_000).toISOString(),
    verb: "approve",
    project_id: null,
    action_id,
    digest,
    member_id: "local",
    head: null,
  });
  const signed: string[] = [];
  const ask = async (challenges: unknown[]) => {
    const bodies: Body[] = [];
    const send = withProof(
      (one) => {
        signed.push(one.nonce);
        return Promise.resolve({
          kind: "passphrase",
          key_id: "k",
          nonce: one.nonce,
          signature: "s",
        });
      },
      (_, init) => {
        bodies.push(JSON.parse(String(init?.body)));
        const problem = { status: 403, code: "proof_required", challenges };
        return Promise.resolve(
          bodies.length === 1 ? Response.json(problem, { status: 403 }) : Response.json({}),
        );
      },
    );
    const body = JSON.stringify({ items: [ITEM, { ...ITEM, id }] });
    await send(`http://localhost${APPROVE}`, { method: "POST", body });
    return bodies;
  };
  for (
    const wrong of [
      challenge("22222222-2222-4222-8222-222222222222", DIGEST),
      challenge(id, "1".repeat(64)),
      { ...challenge(id, DIGEST), verb: "rollback" },
      { ...challenge(id, DIGEST), action_id: null },
    ]
  ) {
    await expect(ask([null, wrong])).rejects.toThrow("Cannot sign the decision");
  }
  expect(signed).toEqual([]);
  const [, second] = await ask([null, challenge(id, DIGEST)]);
  expect(second.proof).toMatchObject([null, { nonce: "n".repeat(43) }]);
});
