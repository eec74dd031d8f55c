import { createSalt, derivePassphraseKey, SCRYPT } from "../../server/proof/passphrase.ts";
import type { ProofStatus, SetProofInput } from "../../server/proof/schema.ts";
import { api, unwrap } from "../state/client.ts";
import { loadAllCode } from "../state/code.ts";
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
  });
  const made = status.enrolled.find(({ public_key }) => public_key === key.public_key);
  if (made) keepUnlocked(signerOf(made.key_id, key));
}

/** Creates and enrols a passkey. An enrolled key must permit it. @throws Error */
export async function setPasskey(): Promise<void> {
  const options = await unwrap(api().api.proof["passkey-options"].$post({ json: {} }));
  const registration = await createPasskey(options);
  await send({ kind: "passkey", registration });
}

/** Lets the reviewer's credential decide, without a proof. An enrolled key must permit it. */
export async function setToken(): Promise<void> {
  await send({ kind: "token" });
}

/** Removes the enrolled key, which permits it. Nothing can be approved until one is set. */
export async function removeProof(): Promise<void> {
  take(await unwrap<ProofStatus>(api().api.proof.remove.$post({ json: {} })));
}

async function send(json: SetProofInput): Promise<ProofStatus> {
  return take(await unwrap<ProofStatus>(api().api.proof.set.$post({ json })));
}

function take(status: ProofStatus): ProofStatus {
  lock();
  proof.value = status;
  rememberKey(status);
  return status;
}
