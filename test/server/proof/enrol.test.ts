import { describe, expect, test } from "vitest";
import { createTestGate } from "../../helpers.ts";
import { enrol, prove, sendTo, signed, withPasskey, withPassphrase } from "./person.ts";

const status = async (gate: Awaited<ReturnType<typeof createTestGate>>) =>
  await (await gate.request("GET", "/api/proof", undefined, "viewer")).json();
const changesIn = async (gate: Awaited<ReturnType<typeof createTestGate>>) =>
  (await gate.audit()).filter(({ type }) => type === "proof.changed");

test("a first key is trusted on first use, shown and recorded in every ledger", async () => {
  const gate = await createTestGate({ proof: "none" });
  expect(await status(gate)).toMatchObject({ kind: "none", enrolled: [], problem: null });
  const person = withPassphrase();
  const answer = await enrol(sendTo(gate), person);
  expect(await answer.json()).toMatchObject({ kind: "passphrase", problem: null });
  const { enrolled } = await status(gate);
  expect(enrolled).toMatchObject([{ key_id: person.key_id, kind: "passphrase" }]);
  expect(await changesIn(gate)).toMatchObject([{
    actor: { kind: "reviewer", id: "reviewer" },
    data: { number: 1, kind: "passphrase", key: enrolled[0], before: { kind: "none" } },
  }]);
  expect(JSON.stringify(gate.events)).toContain("proof.changed");
});

test("from the token to a key the reviewer's scope suffices; back it needs the key", async () => {
  const gate = await createTestGate();
  const send = sendTo(gate);
  expect(await status(gate)).toMatchObject({ kind: "token" });
  const person = withPassphrase();
  expect((await enrol(send, person)).status).toBe(200);
  for (const [path, body] of [["set", { kind: "token" }], ["remove", {}]] as const) {
    expect((await send("POST", `/api/proof/${path}`, body)).status).toBe(403);
    const stranger = await prove(send, withPassphrase(), ["POST", `/api/proof/${path}`, body]);
    expect(stranger.status).toBe(403);
  }
  expect((await status(gate)).kind).toBe("passphrase");
  const token = await prove(send, person, ["POST", "/api/proof/set", { kind: "token" }]);
  expect(await token.json()).toMatchObject({ kind: "token", enrolled: [] });
  expect((await changesIn(gate)).map(({ data }) => data.kind)).toEqual(["passphrase", "token"]);
  expect(await gate.project.audit.verify()).toMatchObject({ ok: true, problem: null });
});

test("a key changes with the proof of the present one: passphrase, passkey, another, none", async () => {
  const gate = await createTestGate({ proof: "none" });
  const send = sendTo(gate);
  const people = [withPassphrase(), withPasskey("ES256"), withPasskey("Ed25519"), withPassphrase()];
  for (const [at, person] of people.entries()) {
    const before = people[at - 1];
    if (before) expect((await enrol(send, person)).status).toBe(403);
    const answer = await enrol(send, person, before);
    expect([at, answer.status]).toEqual([at, 200]);
  }
  const last = people.at(-1)!;
  expect((await status(gate)).enrolled).toMatchObject([{ key_id: last.key_id }]);
  const removed = await prove(send, last, ["POST", "/api/proof/remove"]);
  expect(await removed.json()).toMatchObject({ kind: "none", enrolled: [] });
  expect((await send("POST", "/api/proof/remove", {})).status).toBe(409);
  expect((await enrol(send, people[0]!)).status).toBe(200);
  expect(await changesIn(gate)).toHaveLength(6);
  expect(await gate.project.audit.verify()).toMatchObject({ ok: true, problem: null });
});

test("a proof for one new key does not enrol another", async () => {
  const gate = await createTestGate({ proof: "none" });
  const send = sendTo(gate);
  const [person, wanted, other] = [withPassphrase(), withPassphrase(), withPassphrase()];
  await enrol(send, person);
  const refused = await send("POST", "/api/proof/set", await wanted.enrolment(send));
  const proof = await signed(refused, person);
  const swapped = { ...await other.enrolment(send), proof };
  expect((await send("POST", "/api/proof/set", swapped)).status).toBe(403);
  expect((await status(gate)).enrolled).toMatchObject([{ key_id: person.key_id }]);
});

describe("nonsense is refused with 400", () => {
  const key = async () => await withPassphrase().enrolment(() => Promise.reject());
  test.each<[string, Record<string, unknown>]>([
    ["scrypt with a small N", { scrypt: { N: 65536, r: 8, p: 1 } }],
    ["scrypt with an N that is no power of two", { scrypt: { N: 131073, r: 8, p: 1 } }],
    ["scrypt with a small r", { scrypt: { N: 131072, r: 4, p: 1 } }],
    ["scrypt without p", { scrypt: { N: 131072, r: 8, p: 0 } }],
    ["scrypt with a vast cost", { scrypt: { N: 2 ** 30, r: 8, p: 1 } }],
    ["a short salt", { salt: "AAAA" }],
    ["a salt with spare bits", { salt: `${"A".repeat(21)}B` }],
    ["a long salt", { salt: "A".repeat(200) }],
    ["no salt", { salt: undefined }],
    ["a public key that is too short", { public_key: "AAAA" }],
    ["a public key with spare bits", { public_key: `${"A".repeat(42)}B` }],
    ["a private key beside it", { private_key: "A".repeat(43) }],
    ["an unknown kind", { kind: "none" }],
    ["a registration of a passphrase", { kind: "passkey" }],
  ])("%s", async (_, changes) => {
    const gate = await createTestGate({ proof: "none" });
    const answer = await gate.request("POST", "/api/proof/set", { ...await key(), ...changes });
    expect([answer.status, (await answer.json()).code]).toEqual([400, "invalid"]);
    expect((await status(gate)).kind).toBe("none");
  });

  test.each<[string, Parameters<typeof withPasskey>[1]]>([
    ["of another origin", { origin: "http://localhost:1" }],
    ["of another relying party", { rp_id: "example.com" }],
    ["that did not verify the person", { flags: 1 }],
    ["that is an assertion", { type: "webauthn.get" }],
  ])("a passkey %s", async (_, faults) => {
    const gate = await createTestGate({ proof: "none" });
    const answer = await enrol(sendTo(gate), withPasskey("ES256", faults));
    expect([answer.status, (await answer.json()).code]).toEqual([400, "invalid"]);
  });

  test.each<[string, (challenge: string) => string, number]>([
    ["a challenge that the gate did not make", () => "A".repeat(43), 0],
    ["an old challenge", (challenge) => challenge, 5 * 60_000 + 1],
  ])("a passkey with %s", async (_, change, later) => {
    const gate = await createTestGate({ proof: "none" });
    const options = await gate.request("POST", "/api/proof/passkey-options", {});
    const { challenge, rp, authenticatorSelection } = await options.json();
    expect(rp.id).toBe("localhost");
    expect(authenticatorSelection.userVerification).toBe("required");
    gate.clock.advance(later);
    const registration = withPasskey().register(change(challenge));
    const answer = await gate.request("POST", "/api/proof/set", { kind: "passkey", registration });
    expect([answer.status, (await answer.json()).code]).toEqual([400, "invalid"]);
  });

  test("a registration is good once", async () => {
    const gate = await createTestGate({ proof: "none" });
    const send = sendTo(gate);
    const passkey = withPasskey();
    const body = await passkey.enrolment(send);
    expect((await send("POST", "/api/proof/set", body)).status).toBe(200);
    expect((await send("POST", "/api/proof/set", body)).status).toBe(400);
  });
});

test("agents and viewers cannot reach the routes that change the proof", async () => {
  const { isAllowed } = await import("../../../server/auth/scopes.ts");
  for (const path of ["set", "remove", "passkey-options"]) {
    expect(isAllowed("agent", "POST", `/api/proof/${path}`)).toBe(false);
    expect(isAllowed("viewer", "POST", `/api/proof/${path}`)).toBe(false);
  }
  expect(isAllowed("agent", "GET", "/api/proof")).toBe(false);
  expect(isAllowed("viewer", "GET", "/api/proof")).toBe(true);
});

test("of 20 that enrol a first key at once, one is trusted and the others need its proof", async () => {
  const gate = await createTestGate({ proof: "none" });
  const people = Array.from({ length: 20 }, () => withPassphrase());
  const answers = await Promise.all(people.map((person) => enrol(sendTo(gate), person)));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  expect(answers.filter(({ status }) => status === 403)).toHaveLength(19);
  const winner = people[answers.findIndex(({ status }) => status === 200)]!;
  expect((await status(gate)).enrolled).toMatchObject([{ key_id: winner.key_id }]);
  expect(await changesIn(gate)).toHaveLength(1);
});
