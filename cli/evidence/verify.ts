import { createHash, createPublicKey } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { Checkpoint, type EvidenceVerification } from "../../server/evidence/schema.ts";
import { isSigned } from "../../server/evidence/signature.ts";
import { type Known, verifyEvidence } from "../../server/evidence/verify.ts";
import { LedgerProofs } from "../../server/proof/ledger_check.ts";
import { NATIVE } from "../../server/proof/signature.ts";
import { CliError, EXIT } from "../errors.ts";
import { openEvidence } from "./file.ts";

export interface KnownOptions {
  key?: string;
  checkpoint?: string;
}

/** Checks a bundle or an export without a daemon. @throws CliError when it is neither */
export async function verifyFile(
  path: string,
  known: KnownOptions,
): Promise<EvidenceVerification> {
  const expected = readKnown(known);
  return await verifyEvidence(await openEvidence(path), expected, {
    sha256: (text) => createHash("sha256").update(text).digest("hex"),
    isSigned,
    proofs: new LedgerProofs(NATIVE),
  });
}

/** The key and the checkpoint of the command line. @throws CliError */
function readKnown({ key, checkpoint }: KnownOptions): Known {
  return {
    ...key === undefined ? {} : { public_key: readKey(key) },
    ...checkpoint === undefined ? {} : { checkpoint: readCheckpoint(checkpoint) },
  };
}

/** Base64 as `gate audit checkpoint` prints it, or a file that contains it or a public key in PEM. */
function readKey(given: string): string {
  const text = (existsSync(given) ? readFileSync(given, "utf8") : given).trim();
  try {
    const key = text.includes("-----BEGIN")
      ? createPublicKey(text)
      : createPublicKey({ key: Buffer.from(text, "base64"), format: "der", type: "spki" });
    return key.export({ type: "spki", format: "der" }).toString("base64");
  } catch {
    throw new CliError(
      `Cannot use --key "${given}": it is neither a public key nor a file with one`,
      {
        next: "gate audit checkpoint",
        exit: EXIT.usage,
      },
    );
  }
}

/** `<seq>:<hash>`, or a file with the output of `gate audit checkpoint --json`. */
function readCheckpoint(given: string): NonNullable<Known["checkpoint"]> {
  const [, seq, hash] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(given) ?? [];
  if (seq !== undefined && hash !== undefined) return { seq: Number(seq), hash };
  const kept = existsSync(given) ? readKept(given) : null;
  if (kept) return kept;
  throw new CliError(
    `Cannot use --checkpoint "${given}": expected <number>:<hash>, or a file with a signed checkpoint`,
    { next: "gate audit checkpoint", exit: EXIT.usage },
  );
}

function readKept(path: string): Checkpoint | null {
  try {
    const checkpoint = Checkpoint.parse(JSON.parse(readFileSync(path, "utf8")));
    return isSigned(checkpoint) ? checkpoint : null;
  } catch {
    return null;
  }
}
