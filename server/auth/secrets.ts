import { createHmac, hash, randomBytes, timingSafeEqual } from "node:crypto";

/** A new secret of that many bits, safe in an address and in a header. */
export function createSecret(bits: 128 | 256): string {
  return randomBytes(bits / 8).toString("base64url");
}

/** The SHA-256 of a secret. The gate stores and compares it in place of the secret. */
export function digestOf(secret: string): Uint8Array {
  return hash("sha256", secret, "buffer");
}

/** The digest in hexadecimal: a key for maps. An attacker cannot choose a digest. */
export function hexDigestOf(secret: string): string {
  return hash("sha256", secret, "hex");
}

/** The HMAC-SHA-256 of a text under a digest, in base64url. */
export function macOf(digest: Uint8Array, text: string): string {
  return createHmac("sha256", digest).update(text).digest("base64url");
}

/** Compares two digests in hexadecimal in constant time. */
export function isSameText(a: string, b: string): boolean {
  return isSame(new TextEncoder().encode(a), new TextEncoder().encode(b));
}

/** Compares two digests in constant time. */
export function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
