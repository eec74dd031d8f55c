import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Challenge } from "../../../server/proof/schema.ts";
import { createTestGate, testCaller, type TestGate, type TestGateOptions } from "../../helpers.ts";
import {
  type Algorithm,
  enrol,
  type Faults,
  type Person,
  prove,
  type Send,
  sendTo,
  signed,
  withPasskey,
  withPassphrase,
} from "./person.ts";

const ASK = { defaultEffect: "ask" as const };

interface Stage {
  gate: TestGate;
  send: Send;
  person: Person;
  /** Submits a write that is held, and returns its id. */
  hold(path?: string, content?: string): Promise<string>;
}

async function open(
  person: Person = withPassphrase(),
  options: TestGateOptions = {},
): Promise<Stage> {
  const gate = await createTestGate({ proof: "none", policies: ASK, ...options });
  const send = sendTo(gate);
  expect((await enrol(send, person)).status).toBe(200);
  const hold = async (path = "a.txt", content = "new\n") => {
    const input = { path, content };
    const { action } = await gate.project.actions.submit(
      { tool: "write_file", input },
      testCaller("agent"),
    );
    expect(action.status).toBe("pending");
    return action.id;
  };
  return { gate, send, person, hold };
}

const isWhole = async ({ gate }: Stage) => await gate.project.audit.verify();
const textOf = ({ gate }: Stage, path: string) => readFileSync(join(gate.root, path), "utf8");

describe("an approval needs the person's proof", () => {
  test.each<[string, () => Person]>([
    ["of a passphrase", withPassphrase],
    ["of a passkey with P-256", () => withPasskey("ES256")],
    ["of a passkey with Ed25519", () => withPasskey("Ed25519")],
    ["of a passkey with RSA", () => withPasskey("RS256")],
  ])("%s", async (_, create) => {
    const stage = await open(create());
    const { gate, send, person, hold } = stage;
    const id = await hold();
    const refused = await send("POST", `/api/actions/${id}/approve`, {});
    const problem = await refused.clone().json();
    expect(problem).toMatchObject({ code: "proof_required", status: 403 });
    expect(problem.challenge).toMatchObject({
      verb: "approve",
      project_id: "test",
      action_id: id,
      member_id: "reviewer",
      head: gate.project.ledger.head.hash,
    });
    expect((await gate.project.actions.get(id)).status).toBe("pending");
    const proof = await signed(refused, person);
    const answer = await send("POST", `/api/actions/${id}/approve`, { proof });
    expect(answer.status).toBe(200);
    expect(textOf(stage, "a.txt")).toBe("new\n");
    const approved = (await gate.audit()).find(({ type }) => type === "action.approved");
    expect(approved!.data.proof).toMatchObject({
      key_id: person.key_id,
      challenge: problem.challenge,
    });
    expect(await isWhole(stage)).toMatchObject({ ok: true, problem: null });
  });
});

describe("nothing is decided without a proof", () => {
  test("while none is set up, and the answer says how to enrol", async () => {
    const gate = await createTestGate({ proof: "none", policies: ASK });
    const { action } = await gate.project.actions.submit(
      { tool: "write_file", input: { path: "a.txt", content: "x" } },
      testCaller("agent"),
    );
    const answer = await gate.request("POST", `/api/actions/${action.id}/approve`, {});
    const problem = await answer.json();
    expect(problem).toMatchObject({ code: "proof_required" });
    expect(problem.detail).toContain("gate proof set");
    expect(problem.challenge).toBeUndefined();
    const rejected = await gate.request("POST", `/api/actions/${action.id}/reject`, {});
    expect(rejected.status).toBe(200);
  });

  test("by an unknown verb of the same person: each proof names its deed", async () => {
    const stage = await open();
    const { send, person, hold } = stage;
    const [one, two] = [await hold("a.txt"), await hold("b.txt")];
    const challenge = async (path: string, body = {}): Promise<Challenge> =>
      (await (await send("POST", path, body)).json()).challenge;
    const approve = (id: string) => `/api/actions/${id}/approve`;
    const cases: [string, string, Record<string, unknown>, Challenge][] = [
      ["another action", approve(two), {}, await challenge(approve(one))],
      ["a grant that was not shown", approve(one), {
        remember: { scope: "project", ttl_seconds: 60, max_uses: 2 },
      }, await challenge(approve(one))],
      [
        "no grant, though one was signed",
        approve(one),
        {},
        await challenge(approve(one), {
          remember: { scope: "project", ttl_seconds: 60, max_uses: 2 },
        }),
      ],
      [
        "an edit",
        `/api/actions/${one}/approve-with-edit`,
        { content: "evil" },
        await challenge(
          approve(one),
        ),
      ],
      [
        "another edit",
        `/api/actions/${one}/approve-with-edit`,
        { content: "evil" },
        await challenge(`/api/actions/${one}/approve-with-edit`, { content: "good" }),
      ],
      [
        "the removal of the proof",
        "/api/proof/remove",
        {},
        await challenge(approve(one)),
      ],
      [
        "the removal of the project",
        approve(one),
        {},
        await challenge("/api/proof/remove"),
      ],
    ];
    for (const [name, path, body, from] of cases) {
      const answer = await send("POST", path, { ...body, proof: person.sign(from) });
      const problem = await answer.json();
      expect([name, answer.status, problem.code]).toEqual([name, 403, "proof_required"]);
      expect(problem.challenge.nonce).not.toBe(from.nonce);
    }
    expect((await stage.gate.project.actions.get(one)).status).toBe("pending");
  });

  test("by a stranger's key, a changed challenge or a signature that was changed", async () => {
    const { send, person, hold } = await open();
    const path = `/api/actions/${await hold()}/approve`;
    const challenge = async () => (await (await send("POST", path, {})).json()).challenge;
    const stranger = withPassphrase();
    const proofs = [
      stranger.sign(await challenge()),
      { ...stranger.sign(await challenge()), key_id: person.key_id },
      person.sign({ ...await challenge(), head: "0".repeat(64) }),
      person.sign({ ...await challenge(), member_id: "somebody" }),
      { ...person.sign(await challenge()), signature: "A".repeat(86) },
      withPasskey().sign(await challenge()),
    ];
    for (const proof of proofs) {
      const answer = await send("POST", path, { proof });
      expect([answer.status, (await answer.json()).code]).toEqual([403, "proof_required"]);
    }
  });

  test.each<[string, Faults, Algorithm?]>([
    ["of another port", { origin: "http://localhost:47998" }],
    ["of 127.0.0.1", { origin: "http://127.0.0.1:47999" }],
    ["of https", { origin: "https://localhost:47999" }],
    ["of a site", { origin: "http://localhost:47999.evil.example" }],
    ["of another relying party", { rp_id: "example.com" }],
    ["of a registration", { type: "webauthn.create" }],
    ["in a foreign frame", { cross_origin: true }],
    ["without a verified person", { flags: 1 }],
    ["without a present person", { flags: 4 }],
    ["with a counter that went back", { counter: 1 }],
    ["for another statement", { statement: "gate proof 1\n{}" }],
    ["with Ed25519 for another statement", { statement: "" }, "Ed25519"],
  ])("by a passkey's answer %s", async (_, faults, algorithm) => {
    const passkey = withPasskey(algorithm);
    const { send, hold } = await open(passkey);
    const [one, two] = [await hold("a.txt"), await hold("b.txt")];
    expect((await prove(send, passkey, ["POST", `/api/actions/${one}/approve`])).status).toBe(200);
    Object.assign(passkey.wrong, faults);
    const answer = await prove(send, passkey, ["POST", `/api/actions/${two}/approve`]);
    expect([answer.status, (await answer.json()).code]).toEqual([403, "proof_required"]);
    for (const name of Object.keys(faults)) delete passkey.wrong[name as keyof Faults];
    expect((await prove(send, passkey, ["POST", `/api/actions/${two}/approve`])).status).toBe(200);
  });
});

describe("a proof counts once and for a minute", () => {
  test("of 20 at once with the same nonce, one decides", async () => {
    const stage = await open();
    const { gate, send, person, hold } = stage;
    const id = await hold();
    const path = `/api/actions/${id}/approve`;
    const proof = await signed(await send("POST", path, {}), person);
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => send("POST", path, { proof })),
    );
    const codes = answers.map(({ status }) => status).toSorted();
    expect(codes.filter((code) => code === 200)).toHaveLength(1);
    expect(codes.filter((code) => ![200, 403, 409].includes(code))).toEqual([]);
    const approved = (await gate.audit()).filter(({ type }) => type === "action.approved");
    expect(approved).toHaveLength(1);
    expect(await isWhole(stage)).toMatchObject({ ok: true });
  });

  test("a proof that was used is not accepted again, also for the same deed", async () => {
    const { send, person, hold } = await open();
    const path = `/api/actions/${await hold()}/approve-with-edit`;
    const proof = await signed(await send("POST", path, { content: "1" }), person);
    // Used up by a request that fails.
    expect((await send("POST", path, { content: "2", proof })).status).toBe(403);
    expect((await send("POST", path, { content: "1", proof })).status).toBe(403);
  });

  test.each<[string, (gate: TestGate) => void, number]>([
    ["in time", (gate) => gate.clock.advance(59_000), 200],
    ["too late", (gate) => gate.clock.advance(61_000), 403],
    ["too late although the clock was set back", (gate) => {
      gate.clock.advance(61_000);
      gate.clock.now -= 3_600_000;
    }, 403],
    ["after the clock jumped forward", (gate) => gate.clock.now += 3_600_000, 403],
    ["in time although the clock was set back", (gate) => gate.clock.now -= 3_600_000, 200],
  ])("%s", async (_, pass, status) => {
    const stage = await open(
      withPassphrase(),
      { policies: { ...ASK, expireAfterSeconds: 7200 } } as TestGateOptions,
    );
    const { gate, send, person, hold } = stage;
    const path = `/api/actions/${await hold()}/approve`;
    const proof = await signed(await send("POST", path, {}), person);
    pass(gate);
    expect((await send("POST", path, { proof })).status).toBe(status);
    expect((await isWhole(stage)).problem).toBeNull();
  });

  test("wrong proofs are slowed down, and a right one is still accepted", async () => {
    const { gate, send, person, hold } = await open();
    const path = `/api/actions/${await hold()}/approve`;
    const stranger = withPassphrase();
    const codes: number[] = [];
    for (let i = 0; i < 12; i++) codes.push((await prove(send, stranger, ["POST", path])).status);
    expect(codes.slice(0, 10)).toEqual(Array(10).fill(403));
    expect(codes.slice(10)).toEqual([429, 429]);
    expect(gate.logs.filter(({ message }) => message === "a wrong proof was sent")).toHaveLength(
      12,
    );
    expect((await prove(send, person, ["POST", path])).status).toBe(200);
  });

  test("a flood of challenges stays bounded", async () => {
    const { send, person, hold } = await open();
    const path = `/api/actions/${await hold()}/approve`;
    const first = await send("POST", path, {});
    for (let i = 0; i < 1024; i++) await send("POST", path, {});
    const proof = await signed(first, person);
    expect((await send("POST", path, { proof })).status).toBe(403);
    expect((await prove(send, person, ["POST", path])).status).toBe(200);
  });
});

describe("every deed that lets more happen is proven and recorded", () => {
  test("an edit, a new base and a grant are part of the signed digest", async () => {
    const stage = await open(withPassphrase(), { files: { "base.txt": "one\ntwo\nthree\n" } });
    const { gate, send, person, hold } = stage;
    const edited = await hold("e.txt");
    const path = `/api/actions/${edited}/approve-with-edit`;
    const secret = "password = hunter2hunter2\n";
    expect((await prove(send, person, ["POST", path, { content: secret }])).status).toBe(200);
    expect(textOf(stage, "e.txt")).toBe(secret);

    const remembered = await hold("r.txt");
    const remember = { scope: "session", ttl_seconds: 600, max_uses: 3 };
    const approve = `/api/actions/${remembered}/approve`;
    expect((await prove(send, person, ["POST", approve, { remember }])).status).toBe(200);

    const { action } = await gate.project.actions.submit({
      tool: "edit_file",
      input: { path: "base.txt", edits: [{ old_text: "three", new_text: "3" }] },
    }, testCaller("agent"));
    writeFileSync(join(gate.root, "base.txt"), "ONE\ntwo\nthree\n");
    const { base } = await gate.project.actions.detail(action.id);
    const based = { base_sha256: base!.now_sha256 };
    const rebase = `/api/actions/${action.id}/approve`;
    expect((await prove(send, person, ["POST", rebase, based])).status).toBe(200);
    expect(textOf(stage, "base.txt")).toBe("ONE\ntwo\n3\n");

    const approved = (await gate.audit()).filter(({ type }) => type === "action.approved");
    expect(approved.map(({ data }) => Object.keys(data.asked as object).toSorted())).toEqual([
      ["content_sha256", "digest"],
      ["digest", "remember_sha256"],
      ["base_sha256", "digest"],
    ]);
    expect(JSON.stringify(await gate.audit())).not.toContain("hunter2hunter2");
    expect(await isWhole(stage)).toMatchObject({ ok: true, problem: null });
  });

  test("a rollback of an action, of a session and of a part, and a replay", async () => {
    const stage = await open(withPassphrase(), { policies: { defaultEffect: "allow" } });
    const { gate, send, person } = stage;
    const write = async (path: string) => {
      const { action } = await gate.project.actions.submit(
        { tool: "write_file", input: { path, content: "x\n" } },
        testCaller("agent"),
      );
      return action;
    };
    const [a, b, c, d] = [await write("a"), await write("b"), await write("c"), await write("d")];
    const roll = (path: string, body = {}) => prove(send, person, ["POST", path, body]);
    const dry = await send("POST", `/api/actions/${a.id}/rollback`, { dry_run: true });
    expect(dry.status).toBe(200);
    expect((await roll(`/api/actions/${a.id}/rollback`)).status).toBe(200);
    expect((await roll(`/api/actions/${a.id}/replay`)).status).toBe(201);
    const partial = `/api/sessions/${b.session_id}/rollback-partial`;
    expect((await roll(partial, { action_ids: [b.id, c.id] })).status).toBe(200);
    const whole = await roll(`/api/sessions/${d.session_id}/rollback`);
    expect([whole.status, (await whole.json()).actions.length]).toEqual([200, 2]);
    expect(await isWhole(stage)).toMatchObject({ ok: true, problem: null });
  });

  test("a rollback by the agent's own tool is judged by policy and needs no proof", async () => {
    const { gate } = await open(withPassphrase(), { policies: { defaultEffect: "allow" } });
    const submit = (tool: string, input: Record<string, unknown>) =>
      gate.project.actions.submit({ tool, input }, testCaller("agent"));
    const { action } = await submit("write_file", { path: "a", content: "x" });
    const { action: back } = await submit("rollback", { action_id: action.id });
    expect(back).toMatchObject({ status: "approved", execution: "succeeded" });
    expect((await gate.project.audit.verify()).problem).toBeNull();
  });

  test("the removal of a project", async () => {
    const { gate, send, person } = await open();
    const refused = await send("DELETE", "/api/hub/projects/test");
    const proof = await signed(refused, person);
    const header = Buffer.from(JSON.stringify(proof)).toString("base64url");
    const answer = await gate.request("DELETE", "/api/hub/projects/test", undefined, "reviewer", {
      "x-gate-proof": header,
    });
    expect(answer.status).toBe(200);
    expect((await gate.daemon.projects.list()).length).toBe(0);
  });
});

test("a key for repeated requests works with the proof, and the refusal is not kept", async () => {
  const { gate, person, hold } = await open();
  const path = `/api/actions/${await hold()}/approve`;
  const headers = { "idempotency-key": "once" };
  const send = (body: object) => gate.request("POST", path, body, "reviewer", headers);
  const refused = await send({});
  const proof = await signed(refused, person);
  const approved = await send({ proof });
  expect(approved.status).toBe(200);
  const again = await send({});
  expect(again.status).toBe(200);
  expect(again.headers.get("idempotency-replayed")).toBe("true");
});

describe("approvals that a passkey signs with one answer", () => {
  async function openTogether(count: number) {
    const passkey = withPasskey();
    const stage = await open(passkey);
    const paths: string[] = [];
    for (let at = 0; at < count; at++) {
      paths.push(`/api/actions/${await stage.hold(`${at}.txt`)}/approve`);
    }
    const challengeOf = async (path: string): Promise<Challenge> =>
      (await (await stage.send("POST", path, {})).json()).challenge;
    const challenges: Challenge[] = [];
    for (const path of paths) challenges.push(await challengeOf(path));
    const send = async (path: string, proof: unknown) => {
      const answer = await stage.send("POST", path, { proof });
      return [answer.status, (await answer.json()).code];
    };
    return { ...stage, passkey, paths, challenges, challengeOf, approve: send };
  }
  const REFUSED = [403, "proof_required"];

  test("count each, with their own nonce, and the ledger proves each", async () => {
    const { gate, passkey, paths, challenges, approve } = await openTogether(3);
    const proofs = passkey.signAll(challenges);
    for (const [at, path] of paths.entries()) {
      expect(await approve(path, proofs[at])).toEqual([200, undefined]);
    }
    const approved = (await gate.audit()).filter(({ type }) => type === "action.approved");
    expect(approved.map(({ data }) => (data.proof as { challenge: Challenge }).challenge)).toEqual(
      challenges,
    );
    expect(await gate.project.audit.verify()).toMatchObject({ ok: true, problem: null });
  });

  test("also at once, and a later answer alone counts on", async () => {
    const { passkey, send, hold, paths, challenges, approve } = await openTogether(5);
    const proofs = passkey.signAll(challenges);
    const outcomes = await Promise.all(paths.map((path, at) => approve(path, proofs[at])));
    expect(outcomes).toEqual(paths.map(() => [200, undefined]));
    const alone = `/api/actions/${await hold("alone.txt")}/approve`;
    expect((await prove(send, passkey, ["POST", alone])).status).toBe(200);
  });

  test("do not permit an approval that they do not name, and none twice", async () => {
    const { passkey, hold, paths, challenges, challengeOf, approve } = await openTogether(3);
    const proofs = passkey.signAll(challenges.slice(0, 2)) as { nonce: string }[];
    const other = challenges[2]!;
    expect(await approve(paths[2]!, { ...proofs[0], nonce: other.nonce })).toEqual(REFUSED);
    // The answer of the passkey for another approval.
    expect(await approve(paths[1]!, proofs[0])).toEqual(REFUSED);
    expect(await approve(paths[1]!, proofs[1])).toEqual([200, undefined]);
    expect(await approve(paths[1]!, proofs[1])).not.toEqual([200, undefined]);
    const late = `/api/actions/${await hold("late.txt")}/approve`;
    const { nonce } = await challengeOf(late);
    expect(await approve(late, { ...proofs[1], nonce })).toEqual(REFUSED);
  });

  test("are signed as a list: no other list, order or lone statement passes", async () => {
    const { passkey, paths, challengeOf, approve } = await openTogether(2);
    type Together = { together: string[] };
    const tricks: ((proof: Together, other: Together) => object)[] = [
      (proof) => ({ ...proof, together: proof.together.toReversed() }),
      (proof) => ({ ...proof, together: [...proof.together, "A".repeat(43)] }),
      (proof) => ({ ...proof, together: undefined }),
      (proof, other) => ({ ...proof, webauthn: (other as { webauthn?: object }).webauthn }),
    ];
    for (const trick of tricks) {
      const challenges = [await challengeOf(paths[0]!), await challengeOf(paths[1]!)];
      const [proof] = passkey.signAll(challenges) as unknown as Together[];
      const alone = passkey.sign(challenges[0]!) as unknown as Together;
      expect(await approve(paths[0]!, trick(proof!, alone))).toEqual(REFUSED);
    }
    // An answer for one approval does not become one for several.
    const challenges = [await challengeOf(paths[0]!), await challengeOf(paths[1]!)];
    const [{ together }] = passkey.signAll(challenges) as unknown as [Together];
    const alone = passkey.sign(challenges[0]!);
    expect(await approve(paths[0]!, { ...alone, together })).toEqual(REFUSED);
  });

  test("cover approvals only, at least two and at most fifty", async () => {
    const { passkey, send, paths, challenges, challengeOf, approve } = await openTogether(2);
    const proofs = passkey.signAll(challenges);
    expect(await approve(paths[0]!, proofs[0])).toEqual([200, undefined]);
    const rollback = paths[0]!.replace("approve", "rollback");
    const [proof] = passkey.signAll([await challengeOf(rollback), challenges[1]!]);
    expect(await approve(rollback, proof)).toEqual(REFUSED);
    expect((await prove(send, passkey, ["POST", rollback])).status).toBe(200);
    for (const size of [1, 51]) {
      const together = Array.from({ length: size }, () => "A".repeat(43));
      expect(await approve(paths[1]!, { ...proofs[1], together })).toEqual([400, "invalid"]);
    }
  });

  test("keep the counter: an older answer of the passkey is refused", async () => {
    const { passkey, paths, challenges, challengeOf, approve } = await openTogether(3);
    const older = passkey.signAll(challenges.slice(0, 2));
    const newer = passkey.sign(await challengeOf(paths[2]!));
    expect(await approve(paths[2]!, newer)).toEqual([200, undefined]);
    expect(await approve(paths[0]!, older[0])).toEqual(REFUSED);
    expect(await approve(paths[1]!, older[1])).toEqual(REFUSED);
  });
});
