import { createSalt, derivePassphraseKey, SCRYPT } from "../../server/proof/passphrase.ts";
import { fromBase64Url, toBase64Url } from "../../server/proof/encoding.ts";
import { signInvited } from "../../server/proof/invitation.ts";
import type { Invited, ProofStatus, SetProofInput } from "../../server/proof/schema.ts";
import { api, unwrap } from "../state/client.ts";
import { loadAllCode } from "../state/code.ts";
import { invitation, keepInvitation } from "../state/invitation.ts";
import { keepUnlocked, lock, proof } from "../state/proof.ts";
import { rememberKey } from "./known.ts";
import { createPasskey } from "./passkey.ts";
import { signerOf } from "./signer.ts";

/**
 * Enrols the key of a passphrase and unlocks this page with it. The daemon receives public material
 * only. An enrolled key must permit it. @throws Error
 */
export async function setPassphrase(
  passphrase: string,
  onProgress: (part: number) => void,
): Promise<void> {
  await loadAllCode();
  const salt = createSalt();
  const key = await derivePassphraseKey(passphrase, { salt, scrypt: SCRYPT, onProgress });
  const status = await send({
    kind: "passphrase",
    public_key: key.public_key,
    salt,
    scrypt: SCRYPT,
    ...await invitedFor(key.public_key),
  });
  const made = status.enrolled.find(({ public_key }) => public_key === key.public_key);
  if (made) keepUnlocked(signerOf(made.key_id, key));
}

/** Creates and enrols a passkey. An enrolled key must permit it. @throws Error */
export async function setPasskey(): Promise<void> {
  const options = await unwrap(api().api.proof["passkey-options"].$post({ json: {} }));
  const registration = await createPasskey(options);
  const public_key = publicKeyIn(registration.response.authenticatorData);
  await send({ kind: "passkey", registration, ...await invitedFor(public_key) });
}

/** Lets the reviewer's credential decide, without a proof. An enrolled key must permit it. */
export async function setToken(): Promise<void> {
  await send({ kind: "token" });
}

/** Removes the enrolled key, which permits it. Nothing can be approved until one is set. */
export async function removeProof(): Promise<void> {
  take(await unwrap<ProofStatus>(api().api.proof.remove.$post({ json: {} })));
}

/** The login link's signature of the new key; nothing for a person who logged in without such a link. */
async function invitedFor(public_key: string | null): Promise<{ invited?: Invited }> {
  const seed = invitation.peek();
  const member_id = proof.peek()?.member_id;
  if (seed === null || public_key === null || !member_id) return {};
  return { invited: await signInvited(seed, { public_key, member_id }) };
}

/** The place of the credential in the authenticator's data (WebAuthn, section 6.1). */
const ID_LENGTH_AT = 53;

/** The COSE key in the authenticator's data, as base64url; null if the browser does not show it. */
function publicKeyIn(data: string | undefined): string | null {
  const bytes = data === undefined ? null : fromBase64Url(data);
  if (bytes === null || bytes.length < ID_LENGTH_AT + 2) return null;
  const length = (bytes[ID_LENGTH_AT]! << 8) | bytes[ID_LENGTH_AT + 1]!;
  return toBase64Url(bytes.subarray(ID_LENGTH_AT + 2 + length));
}

/** Removes a member's key, which an admin's key permits. @throws Error */
export async function removeKeyOf(member_id: string): Promise<void> {
  const status = await unwrap<ProofStatus>(api().api.proof.remove.$post({ json: { member_id } }));
  proof.value = status;
  rememberKey(status);
}

async function send(json: SetProofInput): Promise<ProofStatus> {
  return take(await unwrap<ProofStatus>(api().api.proof.set.$post({ json })));
}

function take(status: ProofStatus): ProofStatus {
  lock();
  keepInvitation(null);
  proof.value = status;
  rememberKey(status);
  return status;
}
