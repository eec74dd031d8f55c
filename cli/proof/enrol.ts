import { type Client, ProblemError, unwrap } from "../../server/client.ts";
import { createSalt, derivePassphraseKey, SCRYPT } from "../../server/proof/passphrase.ts";
import type { EnrolledKey, ProofStatus } from "../../server/proof/schema.ts";
import { openConnection } from "../daemon/connect.ts";
import { CliError } from "../errors.ts";
import type { Io } from "../io.ts";
import { describeKey, takeBack } from "./describe.ts";
import { type PassphraseOptions, Passphrases } from "./passphrases.ts";
import { openReview, Prover, readProof } from "./prover.ts";

/** Sets the first passphrase of a home. @throws CliError if a key is already enrolled */
export async function setPassphrase(io: Io, options: PassphraseOptions): Promise<ProofStatus> {
  const passphrases = new Passphrases(io, options);
  const { enrolled } = await readProof(io);
  if (enrolled[0]) throw alreadySet(io, enrolled[0]);
  const { client } = await openConnection(io, { scope: "reviewer" });
  try {
    return await enrol(client, passphrases);
  } catch (error) {
    const [first] = (await readProof(io)).enrolled;
    // Another program was faster while the person typed.
    const isLate = error instanceof ProblemError && error.problem.code === "proof_required";
    throw isLate && first ? alreadySet(io, first) : error;
  }
}

/** Replaces the enrolled key by that of a new passphrase. @throws CliError if none is enrolled */
export async function changePassphrase(io: Io, options: PassphraseOptions): Promise<ProofStatus> {
  const passphrases = new Passphrases(io, options);
  const { enrolled } = await readProof(io);
  const present = enrolled[0];
  if (!present) {
    throw new CliError("Cannot change the passphrase: none is set", { next: "gate proof set" });
  }
  const prover = new Prover(io, passphrases);
  // The present passphrase first: a person who does not know it need not think of a new one.
  await prover.unlock(present, "Present passphrase");
  const { client } = await openReview(io, { prover });
  return await enrol(client, passphrases);
}

async function enrol(client: Client, passphrases: Passphrases): Promise<ProofStatus> {
  const passphrase = await passphrases.readNew();
  const salt = createSalt();
  const { public_key } = await derivePassphraseKey(passphrase, { salt, scrypt: SCRYPT });
  const json = { kind: "passphrase" as const, public_key, salt, scrypt: SCRYPT };
  return await unwrap(client.api.proof.set.$post({ json }));
}

function alreadySet(io: Io, key: EnrolledKey): CliError {
  return new CliError(`Cannot set a proof: ${describeKey(key)}\n${takeBack(io)}`, {
    next: "gate proof change, if it is yours",
  });
}
