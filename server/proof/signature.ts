import { createHash, createPublicKey, type JsonWebKey, verify } from "node:crypto";
import type { ProofCrypto } from "./record_check.ts";

/** Hashes and signature checks outside a browser. */
export const NATIVE: ProofCrypto = {
  sha256: (bytes) => new Uint8Array(createHash("sha256").update(bytes).digest()),
  verify({ algorithm, jwk }, data, signature) {
    try {
      const key = createPublicKey({ key: jwk as JsonWebKey, format: "jwk" });
      return verify(algorithm === "Ed25519" ? null : "sha256", data, key, signature);
    } catch {
      // Not a point of the curve: nothing was signed with it.
      return false;
    }
  },
};
