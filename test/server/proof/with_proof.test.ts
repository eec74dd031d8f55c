import { describe, expect, test } from "vitest";
import { createTestGate } from "../../helpers.ts";

const NONCE = "n".repeat(43);
const PROOF = {
  kind: "passphrase",
  key_id: "k".repeat(43),
  nonce: NONCE,
  signature: "s".repeat(86),
};
const header = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

describe("a proof that makes no sense is refused before the route", () => {
  test.each<[string, unknown, string?]>([
    ["no object", "yes"],
    ["null", null],
    ["a list", [PROOF]],
    ["an unknown kind", { ...PROOF, kind: "token" }],
    ["a field too many", { ...PROOF, scope: "reviewer" }],
    ["a short nonce", { ...PROOF, nonce: "n" }],
    ["a long nonce", { ...PROOF, nonce: "n".repeat(100_000) }],
    ["a signature that is no base64url", { ...PROOF, signature: "+".repeat(86) }],
    ["a passkey without its answer", { kind: "passkey", key_id: PROOF.key_id, nonce: NONCE }],
    ["a proof in body and header", PROOF, header(PROOF)],
  ])("%s", async (_, proof, also) => {
    const gate = await createTestGate();
    const headers = also === undefined ? undefined : { "x-gate-proof": also };
    const answer = await gate.request("POST", "/api/workspaces", { proof }, "reviewer", headers);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ code: "invalid" });
  });

  test.each([["no base64url", "{}"], ["no JSON", "AAAA"], ["no proof", header({ kind: "none" })], [
    "too long",
    "A".repeat(20_000),
  ]])("a header with %s", async (_, value) => {
    const gate = await createTestGate();
    const headers = { "x-gate-proof": value };
    const answer = await gate.request("GET", "/api/proof", undefined, "reviewer", headers);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ code: "invalid" });
  });
});

test("a strict body never sees the proof, and an agent's body keeps it", async () => {
  const gate = await createTestGate();
  const asked = { id: "w", name: "w", proof: PROOF };
  expect((await gate.request("POST", "/api/workspaces", asked)).status).toBe(201);
  const session = { agent: "x", root: gate.root, proof: PROOF };
  const answer = await gate.request("POST", "/api/sessions", session, "agent");
  expect(answer.status).toBe(400);
});
