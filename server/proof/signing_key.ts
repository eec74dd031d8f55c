import { toBase64Url } from "./encoding.ts";

/** A signing key that exists only in memory. */
export interface SigningKey {
  /** The raw Ed25519 public key, as base64url. */
  readonly public_key: string;
  /** The signature of these bytes, as base64url. */
  sign(statement: Uint8Array): Promise<string>;
}

/** The bytes before the seed in the PKCS #8 form of an Ed25519 key (RFC 8410). */
const PKCS8_HEAD = [48, 46, 2, 1, 0, 48, 5, 6, 3, 43, 101, 112, 4, 34, 4, 32];

/** The Ed25519 key of a seed of 32 bytes. The private key cannot be exported. */
export async function signingKeyOf(seed: Uint8Array): Promise<SigningKey> {
  const pkcs8 = new Uint8Array([...PKCS8_HEAD, ...seed]);
  try {
    // WebCrypto tells the public key only of a key that may be exported.
    const open = await crypto.subtle.importKey("pkcs8", pkcs8, "Ed25519", true, ["sign"]);
    const { x } = await crypto.subtle.exportKey("jwk", open);
    const key = await crypto.subtle.importKey("pkcs8", pkcs8, "Ed25519", false, ["sign"]);
    return {
      public_key: x!,
      sign: async (statement) => {
        const bytes = new Uint8Array(statement);
        return toBase64Url(new Uint8Array(await crypto.subtle.sign("Ed25519", key, bytes)));
      },
    };
  } finally {
    pkcs8.fill(0);
  }
}
