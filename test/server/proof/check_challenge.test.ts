import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { canonical } from "../../../server/evidence/canonical.ts";
import { checkChallenge, type SentRequest } from "../../../server/proof/check_challenge.ts";
import type { Challenge } from "../../../server/proof/schema.ts";

const ID = "0199a1b2-0000-7000-8000-000000000001";
const OTHER = "0199a1b2-0000-7000-8000-000000000002";
const DIGEST = "a".repeat(64);
const CHALLENGE: Challenge = {
  nonce: "n".repeat(43),
  expires_at: "2026-01-01T00:00:00.000Z",
  verb: "approve",
  project_id: "web",
  action_id: ID,
  digest: DIGEST,
  member_id: "local",
  head: null,
};

function post(path: string, body: unknown = { expected_digest: DIGEST }): SentRequest {
  return { method: "POST", url: `http://localhost:47000${path}`, body: JSON.stringify(body) };
}

const APPROVE = `/api/actions/${ID}/approve?project=web`;
const remember = { scope: "session", ttl_seconds: 60, max_uses: 2 };
const sha256Of = (text: string) => createHash("sha256").update(text).digest("hex");
const sha256 = (value: unknown) => sha256Of(canonical(value));

const SESSION_DIGEST = sha256({
  session_id: "s1",
  on_conflict: "abort",
  actions_sha256: DIGEST,
});
const ACCEPTED = { path: "/src/web/gate.config.json", sha256: "c".repeat(64) };
const RAW_KEY = new Uint8Array(32).fill(7);
const NEW_KEY = {
  kind: "passphrase",
  public_key: Buffer.from(RAW_KEY).toString("base64url"),
  salt: "s".repeat(22),
  scrypt: { N: 131_072, r: 8, p: 1 },
};
const KEY_ID = createHash("sha256").update(RAW_KEY).digest("base64url");

describe("a challenge about the request that was sent is signed", () => {
  test.each<[string, SentRequest, Partial<Challenge>]>([
    ["an approval", post(APPROVE), {}],
    ["from any project", post(`/api/global/approvals/${ID}/approve`), {}],
    [
      "with a grant",
      post(APPROVE, { expected_digest: DIGEST, remember }),
      { digest: sha256({ remember_sha256: sha256(remember), digest: DIGEST }) },
    ],
    [
      "with a permit",
      post(APPROVE, { expected_digest: DIGEST, permit: [".husky"] }),
      { digest: sha256({ permit: [".husky"], digest: DIGEST }) },
    ],
    [
      "with an edit",
      post(`/api/actions/${ID}/approve-with-edit`, { expected_digest: DIGEST, content: "x" }),
      {
        verb: "approve_with_edit",
        digest: sha256({ content_sha256: sha256Of("x"), digest: DIGEST }),
      },
    ],
    [
      "a rollback",
      post(`/api/actions/${ID}/rollback`),
      {
        verb: "rollback",
        digest: sha256({ action_id: ID, digest: DIGEST, on_conflict: "abort" }),
      },
    ],
    [
      "a rollback with force",
      post(`/api/actions/${ID}/rollback`, { expected_digest: DIGEST, on_conflict: "force" }),
      {
        verb: "rollback",
        digest: sha256({ action_id: ID, digest: DIGEST, on_conflict: "force" }),
      },
    ],
    ...["rollback", "rollback-partial"].map((way): [string, SentRequest, Partial<Challenge>] => [
      `a session's ${way}`,
      post(`/api/sessions/s1/${way}`, { expected_actions_sha256: DIGEST }),
      { verb: "rollback", action_id: null, digest: SESSION_DIGEST },
    ]),
    ["a replay", post(`/api/actions/${ID}/replay`), { verb: "replay" }],
    [
      "the policies",
      { method: "PUT", url: "http://localhost:47000/api/config/policies" },
      { verb: "change_policies", action_id: null },
    ],
    [
      "a removed project",
      { method: "DELETE", url: "http://localhost:47000/api/hub/projects/web" },
      { verb: "remove_project", action_id: null },
    ],
    [
      "a ledger that moves to a server",
      { method: "PUT", url: "http://localhost:47000/api/hub/projects/web/server" },
      { verb: "move_ledger", action_id: null },
    ],
    [
      "a ledger that leaves its server",
      { method: "DELETE", url: "http://localhost:47000/api/hub/projects/web/server" },
      { verb: "move_ledger", action_id: null },
    ],
    [
      "a project of a workspace",
      post("/api/workspaces/shop/projects", { root: "/src/web" }),
      { verb: "register_project", action_id: null },
    ],
    [
      "an accepted config",
      post("/api/config/accept", ACCEPTED),
      { verb: "accept_config", action_id: null, project_id: null, digest: sha256(ACCEPTED) },
    ],
    [
      "a trusted override",
      { method: "PUT", url: "http://localhost:47000/api/hub/projects/web/override-trust" },
      {
        verb: "trust_override",
        action_id: null,
        digest: sha256({ overrideGlobal: true, project_id: "web" }),
      },
    ],
    [
      "a new passphrase",
      post("/api/proof/set", NEW_KEY),
      {
        verb: "change_proof",
        action_id: null,
        project_id: null,
        digest: sha256({ ...NEW_KEY, key_id: KEY_ID }),
      },
    ],
    [
      "no proof any more",
      post("/api/proof/remove", {}),
      { verb: "remove_proof", action_id: null, digest: sha256({ kind: "none" }) },
    ],
  ])("%s", async (_, asked, changes) => {
    await expect(checkChallenge({ ...CHALLENGE, ...changes }, asked)).resolves.toBeUndefined();
  });
});

describe("any other challenge is refused", () => {
  test.each<[string, SentRequest, Partial<Challenge>, string]>([
    ["another action", post(APPROVE), { action_id: OTHER }, OTHER],
    ["no action", post(APPROVE), { action_id: null }, "no action"],
    ["another deed", post(APPROVE), { verb: "remove_proof" }, "remove_proof"],
    ["another project", post(APPROVE), { project_id: "bank" }, "bank"],
    ["another content", post(APPROVE), { digest: "b".repeat(64) }, "other content"],
    [
      "a grant that nobody asked for",
      post(APPROVE),
      { digest: sha256({ remember_sha256: sha256(remember), digest: DIGEST }) },
      "other content",
    ],
    [
      "a permit that nobody asked for",
      post(APPROVE),
      { digest: sha256({ permit: [".husky"], digest: DIGEST }) },
      "other content",
    ],
    ["an approval without the digest", post(APPROVE, {}), {}, '"expected_digest"'],
    [
      "a rollback without the digest",
      post(`/api/actions/${ID}/rollback`, {}),
      { verb: "rollback" },
      'add "expected_digest" to its body',
    ],
    [
      "a rollback of another version",
      post(`/api/actions/${ID}/rollback`),
      { verb: "rollback" },
      "other content",
    ],
    ["a replay of another version", post(`/api/actions/${ID}/replay`), {
      verb: "replay",
      digest: "b".repeat(64),
    }, "other content"],
    [
      "a rollback of another session",
      post("/api/sessions/s2/rollback", { expected_actions_sha256: DIGEST }),
      { verb: "rollback", action_id: null, digest: SESSION_DIGEST },
      "other content",
    ],
    [
      "a session's rollback without its actions",
      post("/api/sessions/s1/rollback", {}),
      { verb: "rollback", action_id: null },
      '"expected_actions_sha256"',
    ],
    [
      "an action in a session's rollback",
      post("/api/sessions/s1/rollback", {}),
      { verb: "rollback" },
      ID,
    ],
    ["a rejection", post(`/api/actions/${ID}/reject`, {}), {}, "approve"],
    ["a read", { method: "GET", url: `http://localhost:47000/api/actions/${ID}` }, {}, "approve"],
    [
      "a list of projects",
      { method: "GET", url: "http://localhost:47000/api/hub/projects" },
      { verb: "register_project", action_id: null },
      "register_project",
    ],
    [
      "another key",
      post("/api/proof/set", NEW_KEY),
      {
        verb: "change_proof",
        action_id: null,
        project_id: null,
        digest: sha256({ ...NEW_KEY, public_key: "k".repeat(43), key_id: KEY_ID }),
      },
      "other content",
    ],
    [
      "another version of a config",
      post("/api/config/accept", ACCEPTED),
      {
        verb: "accept_config",
        action_id: null,
        digest: sha256({ ...ACCEPTED, sha256: "d".repeat(64) }),
      },
      "other content",
    ],
    [
      "the removal of another project",
      { method: "DELETE", url: "http://localhost:47000/api/hub/projects/shop" },
      { verb: "remove_project", action_id: null },
      'the project "web"',
    ],
    [
      "the move of another project's ledger",
      { method: "PUT", url: "http://localhost:47000/api/hub/projects/shop/server" },
      { verb: "move_ledger", action_id: null },
      'the project "web"',
    ],
    ["the method of another deed", { ...post(APPROVE), method: "PUT" }, {}, "approve"],
  ])("%s", async (_, asked, changes, said) => {
    const refused = checkChallenge({ ...CHALLENGE, ...changes }, asked);
    await expect(refused).rejects.toThrow("Cannot sign the decision: the ");
    await expect(refused).rejects.toThrow(said);
  });
});
