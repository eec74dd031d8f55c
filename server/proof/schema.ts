import { z } from "zod";

/** How a person proves a decision; `token`: the reviewer's credential suffices; `none`: not chosen. */
export const ProofKind = z.enum(["none", "token", "passphrase", "passkey"]);
export type ProofKind = z.infer<typeof ProofKind>;

/** The deeds that a proof can permit. */
export const ProofVerb = z.enum([
  "accept_config",
  "approve",
  "approve_with_edit",
  "change_policies",
  "change_proof",
  "change_routes",
  "change_team",
  "issue_login",
  "lift_block",
  "move_ledger",
  "register_project",
  "remove_project",
  "remove_proof",
  "replay",
  "rollback",
  "trust_override",
]);
export type ProofVerb = z.infer<typeof ProofVerb>;

/** So many approvals one answer covers: each runs within the minute that its challenge lives. */
export const MOST_TOGETHER = 25;

const base64url = (least: number, most = least) =>
  z.string().min(least).max(most).regex(/^[A-Za-z0-9_-]+$/, "expected base64url without padding");
const hash = z.string().regex(/^[0-9a-f]{64}$/, "expected a SHA-256 in lowercase hex");

/** The longest id of a passkey, in base64url. WebAuthn allows more; no authenticator uses it. */
const MAX_KEY_ID = 512;
const key_id = base64url(16, MAX_KEY_ID);
const nonce = base64url(43);

/** The fields that a person signs, in the form of `statementOf`. A signature permits one deed, once. */
export const Challenge = z.strictObject({
  nonce,
  expires_at: z.iso.datetime(),
  verb: ProofVerb,
  project_id: z.string().max(256).nullable(),
  action_id: z.string().max(256).nullable(),
  digest: hash.describe("of the action, or of everything that is asked for"),
  member_id: z.string().max(256),
  head: hash.nullable().describe("the newest event of the project's ledger"),
});
export type Challenge = z.infer<typeof Challenge>;

const together = z.array(base64url(43)).min(2).max(50).optional().describe(
  "of approvals that one answer covers: the SHA-256 of each statement. The passkey's challenge is " +
    "then the SHA-256 of `statementTogether`",
);

// The fields of `AuthenticationResponseJSON` that prove something. The others are dropped.
const Assertion = z.object({
  id: key_id,
  rawId: key_id,
  type: z.literal("public-key"),
  response: z.object({
    clientDataJSON: base64url(16, 4096),
    authenticatorData: base64url(48, 2048),
    signature: base64url(32, 1024),
  }),
  clientExtensionResults: z.looseObject({}).default({}).transform(() => ({})),
});

/** A signature over the statement, by the key that a passphrase derives or by a passkey. */
export const Proof = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("passphrase"),
    key_id,
    nonce,
    signature: base64url(86).describe("Ed25519 over the statement"),
  }),
  z.strictObject({
    kind: z.literal("passkey"),
    key_id,
    nonce,
    webauthn: Assertion.describe("its challenge is the SHA-256 of the statement"),
    together,
  }),
]);
export type Proof = z.infer<typeof Proof>;

/** A proof as the ledger keeps it, in `data.proof` of the event that it permitted. */
export const ProofRecord = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("passphrase"),
    key_id,
    challenge: Challenge,
    signature: base64url(86),
  }),
  z.strictObject({
    kind: z.literal("passkey"),
    key_id,
    challenge: Challenge,
    webauthn: Assertion,
    together,
  }),
]);
export type ProofRecord = z.infer<typeof ProofRecord>;

/** The parameters of scrypt: at least N = 2^17, r = 8, p = 1. */
export const Scrypt = z.strictObject({
  N: z.union([131072, 262144, 524288, 1048576].map((size) => z.literal(size)), {
    error: "expected 131072, 262144, 524288 or 1048576",
  }),
  r: z.number().int().min(8).max(16),
  p: z.number().int().min(1).max(4),
});
export type Scrypt = z.infer<typeof Scrypt>;

const salt = base64url(22, 86);

/** A key that can decide. It holds only public material. */
export const EnrolledKey = z.strictObject({
  key_id,
  kind: z.enum(["passphrase", "passkey"]),
  member_id: z.string().max(256),
  public_key: base64url(43, 1024)
    .describe("passphrase: the 32 bytes of Ed25519; passkey: the COSE key"),
  salt: salt.nullable(),
  scrypt: Scrypt.nullable(),
  created_at: z.iso.datetime(),
  role: z.enum(["reviewer", "admin"]).optional()
    .describe("the rights of a further member's key; absent for the home's key, which has all"),
});
export type EnrolledKey = z.infer<typeof EnrolledKey>;

/** Shows that a member had the login link of which an admin proved the creation. */
export const Invited = z.strictObject({
  public_key: base64url(43).describe("the link's own Ed25519 key"),
  signature: base64url(86).describe("of the member's new key, by the link's key"),
});
export type Invited = z.infer<typeof Invited>;

/**
 * `data` of the audit event `proof.changed`: one step from a kind of proof to another, of the home or
 * of one further member.
 */
export const ProofChange = z.strictObject({
  number: z.number().int().min(1).describe("1 for the first change of this home"),
  kind: ProofKind,
  key: EnrolledKey.nullable(),
  member_id: z.string().max(256),
  at: z.iso.datetime(),
  before: z.strictObject({ kind: ProofKind, key_id: key_id.nullable() }),
  accepted_sha256: hash.nullable().describe("the list of configs that were accepted before"),
  previous_sha256: hash.nullable().describe("of the change before, in RFC 8785 form"),
  proof: ProofRecord.nullable().describe("by the key before; null where none was enrolled"),
  holder: z.string().min(1).max(256).optional()
    .describe("the further member whose key it is; absent for the key of the home"),
  invited: Invited.optional(),
});
export type ProofChange = z.infer<typeof ProofChange>;

/** `GET /api/proof`. */
export const ProofStatus = z.object({
  kind: ProofKind,
  enrolled: z.array(EnrolledKey),
  problem: z.string().nullable()
    .describe("why the gate refuses every decision, and what a person must do"),
  unlock_seconds: z.number().int().nullable()
    .describe("how long a page or terminal may keep a passphrase's key; null: as long as it lives"),
  open: z.boolean().describe("true under `--auth none`: whoever reaches the port decides"),
  member_id: z.string().nullable().describe("the person behind the credential of this request"),
});
export type ProofStatus = z.infer<typeof ProofStatus>;

const invited = Invited.optional()
  .describe("of a member who logged in with a link: it permits the first key, or another one");

/** Body of `POST /api/proof/set`. */
export const SetProofInput = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("passphrase"),
    invited,
    public_key: base64url(43).describe("the 32 bytes of the Ed25519 key"),
    salt: salt.describe("16 to 64 random bytes"),
    scrypt: Scrypt,
  }),
  z.strictObject({
    kind: z.literal("passkey"),
    invited,
    registration: z.object({
      id: key_id,
      rawId: key_id,
      type: z.literal("public-key"),
      response: z.object({
        clientDataJSON: base64url(16, 4096),
        attestationObject: base64url(64, 16_384),
      }),
      clientExtensionResults: z.looseObject({}).default({}).transform(() => ({})),
    }).describe("the answer of `navigator.credentials.create` as JSON"),
  }),
  z.strictObject({ kind: z.literal("token") }),
]);
export type SetProofInput = z.infer<typeof SetProofInput>;

/** Body of `POST /api/proof/remove`. */
export const RemoveProofInput = z.strictObject({
  member_id: z.string().min(1).max(256).optional().describe("default: your own key"),
});

/** Body of `POST /api/proof/passkey-options`. */
export const PasskeyOptionsInput = z.strictObject({});

/** The options for `navigator.credentials.create`. */
export const PasskeyOptions = z.looseObject({
  challenge: z.string(),
  rp: z.looseObject({ id: z.string().optional(), name: z.string() }),
});
