import { fromBase64Url, toBase64Url, toHex } from "./encoding.ts";
import type { EnrolledKey } from "./schema.ts";

/** A public key in a form that every runtime imports. */
export interface PublicKey {
  algorithm: "Ed25519" | "ES256" | "RS256";
  jwk: { kty: string; [name: string]: string };
}

/** The COSE numbers of the algorithms that a passkey may use: Ed25519, P-256 and RSA. */
export const COSE_ALGORITHMS = [-8, -7, -257];

/**
 * The COSE keys (RFC 9052) in the only form that authenticators write (CTAP2's canonical CBOR):
 * fixed bytes around the parts of the key.
 */
const FORMS: { around: string[]; parts: number[]; toKey: (parts: string[]) => PublicKey }[] = [{
  around: ["a4010103272006215820", ""],
  parts: [32],
  toKey: ([x]) => ed25519(x!),
}, {
  around: ["a5010203262001215820", "225820", ""],
  parts: [32, 32],
  toKey: ([x, y]) => ({ algorithm: "ES256", jwk: { kty: "EC", crv: "P-256", x: x!, y: y! } }),
}, {
  around: ["a401030339010020590100", "2143010001"],
  parts: [256],
  toKey: ([n]) => ({ algorithm: "RS256", jwk: { kty: "RSA", n: n!, e: "AQAB" } }),
}];

/** The key in a form that can be imported; null for a damaged or unknown one. */
export function publicKeyOf(
  { kind, public_key }: Pick<EnrolledKey, "kind" | "public_key">,
): PublicKey | null {
  const bytes = fromBase64Url(public_key);
  if (bytes === null) return null;
  if (kind === "passphrase") return bytes.length === 32 ? ed25519(public_key) : null;
  for (const { around, parts, toKey } of FORMS) {
    const found = cut(bytes, around, parts);
    if (found) return toKey(found.map(toBase64Url));
  }
  return null;
}

function ed25519(x: string): PublicKey {
  return { algorithm: "Ed25519", jwk: { kty: "OKP", crv: "Ed25519", x } };
}

/** The parts between the fixed bytes; null if the bytes have another form. */
function cut(bytes: Uint8Array, around: string[], sizes: number[]): Uint8Array[] | null {
  const parts: Uint8Array[] = [];
  let at = 0;
  for (const [index, hex] of around.entries()) {
    const fixed = hex.length / 2;
    if (toHex(bytes.subarray(at, at + fixed)) !== hex) return null;
    at += fixed;
    const size = sizes[index];
    if (size === undefined) continue;
    parts.push(bytes.subarray(at, at + size));
    at += size;
  }
  return at === bytes.length ? parts : null;
}
