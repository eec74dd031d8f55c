import { createHash } from "node:crypto";
import type { EvidenceVerification } from "../../server/evidence/schema.ts";
import { isSigned } from "../../server/evidence/signature.ts";
import { verifyEvidence } from "../../server/evidence/verify.ts";
import { openEvidence } from "./file.ts";
import { type KnownOptions, readKnown } from "./known.ts";

/** Checks a bundle or an export without any daemon. @throws CliError when it is neither */
export async function verifyFile(
  path: string,
  known: KnownOptions,
): Promise<EvidenceVerification> {
  const expected = readKnown(known);
  return await verifyEvidence(await openEvidence(path), expected, {
    sha256: (text) => createHash("sha256").update(text).digest("hex"),
    isSigned,
  });
}
