import { canonical } from "../../server/evidence/canonical.ts";
import type { Checkpoint } from "../../server/evidence/schema.ts";
import type { Known, Prover } from "../../server/evidence/verify.ts";
import { sha256Hex } from "../../server/proof/encoding.ts";
import type { PublicKey } from "../../server/proof/public_key.ts";
import type { ProofCrypto } from "../../server/proof/record_check.ts";

/** The browser cannot check Ed25519 signatures. */
class UnsupportedError extends Error {}

const encoder = new TextEncoder();
const keys = new Map<string, Promise<CryptoKey>>();

/** Hashes and signature checks with the browser's Web Crypto. */
export const BROWSER: Pick<Prover, "sha256" | "isSigned"> = {
  sha256: sha256Hex,
  isSigned,
};

const ALGORITHMS = {
  Ed25519: { name: "Ed25519" },
  ES256: { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" },
  RS256: { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" },
};

/** The checks of people's proofs with the browser's Web Crypto. */
export const BROWSER_PROOFS: ProofCrypto = {
  sha256: async (bytes) => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)),
  async verify({ algorithm, jwk }: PublicKey, data, signature) {
    const how = ALGORITHMS[algorithm];
    const bytes = algorithm === "ES256" ? fromDer(signature) : signature;
    if (bytes === null) return false;
    try {
      const key = await crypto.subtle.importKey("jwk", jwk, how, false, ["verify"]);
      return await crypto.subtle.verify(how, key, bytes, data);
    } catch (error) {
      if ((error as Error).name === "NotSupportedError") {
        throw new UnsupportedError("this browser cannot check signatures (Ed25519)");
      }
      return false;
    }
  },
};

/** The two numbers of an ECDSA signature in DER, 32 bytes each; null for any other bytes. */
function fromDer(der: Uint8Array): Uint8Array<ArrayBuffer> | null {
  if (der[0] !== 0x30 || der[1] !== der.length - 2) return null;
  const raw = new Uint8Array(64);
  let at = 2;
  for (const end of [32, 64]) {
    const length = der[at + 1];
    if (der[at] !== 0x02 || length === undefined) return null;
    const number = der.subarray(at + 2, at + 2 + length);
    const digits = number[0] === 0 ? number.subarray(1) : number;
    if (number.length !== length || digits.length > 32) return null;
    raw.set(digits, end - digits.length);
    at += 2 + length;
  }
  return at === der.length ? raw : null;
}

async function isSigned({ signature, ...body }: Checkpoint): Promise<boolean> {
  try {
    const key = await keyOf(body.public_key);
    const bytes = bytesOf(signature);
    return await crypto.subtle.verify("Ed25519", key, bytes, encoder.encode(canonical(body)));
  } catch (error) {
    if ((error as Error).name === "NotSupportedError" || !globalThis.crypto?.subtle) {
      throw new UnsupportedError("this browser cannot check signatures (Ed25519)");
    }
    return false;
  }
}

function keyOf(public_key: string): Promise<CryptoKey> {
  const known = keys.get(public_key) ??
    crypto.subtle.importKey("spki", bytesOf(public_key), "Ed25519", false, ["verify"]);
  keys.set(public_key, known);
  return known;
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64);
  // Base64 can encode the same bytes in several ways; only the canonical one is accepted.
  if (btoa(text) !== base64) throw new TypeError("not canonical base64");
  return Uint8Array.from(text, (char) => char.charCodeAt(0));
}

/** Parses a typed key, `<number>:<hash>` or signed checkpoint; null for anything else. */
export async function readKnown(typed: string): Promise<Known | null> {
  const text = typed.trim().replace(/^--(key|checkpoint)\s+/, "");
  const [, seq, hash] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text) ?? [];
  if (seq !== undefined && hash !== undefined) return { checkpoint: { seq: Number(seq), hash } };
  if (/^[A-Za-z0-9+/]{59}=$/.test(text)) return { public_key: text };
  const checkpoint = checkpointOf(text);
  if (!checkpoint || !await BROWSER.isSigned(checkpoint)) return null;
  return { checkpoint, public_key: checkpoint.public_key };
}

function checkpointOf(text: string): Checkpoint | null {
  try {
    const { project_id, seq, hash, at, public_key, signature } = JSON.parse(text);
    return { project_id, seq, hash, at, public_key, signature };
  } catch {
    return null;
  }
}
