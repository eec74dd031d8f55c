import { fromBase64Url, toBase64Url, toHex, utf8 } from "./encoding.ts";
import { type PublicKey, publicKeyOf } from "./public_key.ts";
import type { EnrolledKey, ProofRecord, ProofVerb } from "./schema.ts";
import { statementOf, statementTogether } from "./statement.ts";

/** The name under which passkeys are registered: gate's pages are at `http://localhost:<port>`. */
export const RP_ID = "localhost";

type Bytes = Uint8Array<ArrayBuffer>;

/** The cryptography, which differs between runtimes and browsers. */
export interface ProofCrypto {
  sha256: (bytes: Bytes) => Bytes | Promise<Bytes>;
  /** ES256 signatures are in DER, as WebAuthn sends them. */
  verify: (key: PublicKey, data: Bytes, signature: Bytes) => boolean | Promise<boolean>;
}

/** Why a proof was not made with this key; null if it was. */
export async function checkRecord(
  record: ProofRecord,
  key: Pick<EnrolledKey, "key_id" | "kind" | "public_key" | "member_id" | "role">,
  crypto: ProofCrypto,
): Promise<string | null> {
  if (record.kind !== key.kind || record.key_id !== key.key_id) return "it names another key";
  if (record.challenge.member_id !== key.member_id) return "it is for another person";
  if (!mayProve(key, record.challenge.verb)) {
    return "its key is a reviewer's and permits no such deed";
  }
  const public_key = publicKeyOf(key);
  if (public_key === null) return "its key is damaged";
  if (record.kind === "passkey") return await checkAssertion(public_key, record, crypto);
  const statement = utf8(statementOf(record.challenge));
  return await checkSignature(public_key, statement, record.signature, crypto);
}

/** The deeds that a reviewer's own key permits. The others change who decides, or what needs it. */
const REVIEWER_VERBS: ReadonlySet<ProofVerb> = new Set<ProofVerb>([
  "approve",
  "approve_with_edit",
  "change_proof",
  "lift_block",
  "remove_proof",
  "replay",
  "rollback",
]);

/** Whether a key can permit a deed. The key of the home permits every one. */
export function mayProve({ role }: Pick<EnrolledKey, "role">, verb: ProofVerb): boolean {
  return role !== "reviewer" || REVIEWER_VERBS.has(verb);
}

async function checkSignature(
  key: PublicKey,
  data: Bytes,
  signature: string,
  crypto: ProofCrypto,
): Promise<string | null> {
  const bytes = fromBase64Url(signature);
  const isRight = bytes !== null && await crypto.verify(key, data, bytes);
  return isRight ? null : "its signature is wrong";
}

type PasskeyRecord = Extract<ProofRecord, { kind: "passkey" }>;

/**
 * The challenge that the passkey has to have signed, as base64url. Null when the approvals that were
 * signed together do not include this one.
 */
export async function signedBy(
  { challenge, together }: PasskeyRecord,
  { sha256 }: Pick<ProofCrypto, "sha256">,
): Promise<string | null> {
  const own = toBase64Url(await sha256(utf8(statementOf(challenge))));
  if (together === undefined) return own;
  if (!together.includes(own)) return null;
  return toBase64Url(await sha256(utf8(statementTogether(together))));
}

const USER_PRESENT = 1;
const USER_VERIFIED = 4;

/** Checks a WebAuthn assertion (Level 3, section 7.2) except its counter, which only gate.db knows. */
async function checkAssertion(
  key: PublicKey,
  record: PasskeyRecord,
  crypto: ProofCrypto,
): Promise<string | null> {
  const { webauthn, key_id, together, challenge } = record;
  if (together !== undefined && challenge.verb !== "approve") {
    return "it covers several deeds, which is for approvals only";
  }
  const { clientDataJSON, authenticatorData, signature } = webauthn.response;
  const client = fromBase64Url(clientDataJSON);
  const data = fromBase64Url(authenticatorData);
  if (webauthn.id !== key_id || webauthn.rawId !== key_id) return "it names another passkey";
  if (client === null || data === null || data.length < 37) {
    return "its passkey's answer is damaged";
  }
  const said = parseClient(client);
  if (said?.type !== "webauthn.get") return "its passkey's answer is damaged";
  if (said.challenge !== await signedBy(record, crypto)) {
    return "its passkey signed another statement";
  }
  if (!/^http:\/\/localhost:\d{1,5}$/.test(String(said.origin)) || said.crossOrigin === true) {
    return "its passkey answered another page";
  }
  const rp = toHex(await crypto.sha256(utf8(RP_ID)));
  if (toHex(data.subarray(0, 32)) !== rp) return "its passkey is of another site";
  const flags = data[32]!;
  if ((flags & USER_PRESENT) === 0 || (flags & USER_VERIFIED) === 0) {
    return "its passkey did not verify the person";
  }
  const client_hash = await crypto.sha256(client);
  const signed = new Uint8Array(data.length + client_hash.length);
  signed.set(data);
  signed.set(client_hash, data.length);
  return await checkSignature(key, signed, signature, crypto);
}

function parseClient(bytes: Bytes): Record<string, unknown> | null {
  try {
    const value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    return typeof value === "object" && value !== null ? value : null;
  } catch {
    return null;
  }
}
