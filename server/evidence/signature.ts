import { createPublicKey, verify } from "node:crypto";
import { canonical } from "./canonical.ts";
import type { Checkpoint } from "./schema.ts";

/** True when the checkpoint was signed by the key that it names. */
export function isSigned(checkpoint: Checkpoint): boolean {
  const { signature, ...body } = checkpoint;
  try {
    const key = createPublicKey({
      key: Buffer.from(checkpoint.public_key, "base64"),
      format: "der",
      type: "spki",
    });
    const bytes = Buffer.from(signature, "base64");
    // Base64 can encode the same bytes in several ways; only the canonical one is accepted.
    if (bytes.toString("base64") !== signature) return false;
    return verify(null, Buffer.from(canonical(body)), key, bytes);
  } catch {
    return false;
  }
}
