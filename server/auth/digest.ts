import { createHash, randomBytes, timingSafeEqual } from "node:crypto";

/** SHA-256 of a secret: what is kept and compared instead of the secret itself. */
export function digestOf(secret: string): Uint8Array {
  return createHash("sha256").update(secret).digest();
}

/** Whether two digests are equal, in a time that does not tell where they differ. */
export function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

/** A fresh secret of that many bits, safe in an address and in a header. */
export function createSecret(bits: 128 | 256): string {
  return randomBytes(bits / 8).toString("base64url");
}
