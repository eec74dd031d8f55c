import { scryptAsync } from "@noble/hashes/scrypt.js";
import { fromBase64Url, toBase64Url } from "./encoding.ts";
import { ExplainedError } from "./explained_error.ts";
import type { Scrypt } from "./schema.ts";
import { type SigningKey, signingKeyOf } from "./signing_key.ts";

/** The cost of guessing one passphrase: 128 MiB of memory and about half a second. */
export const SCRYPT = { N: 131_072, r: 8, p: 1 } as const satisfies Scrypt;

/** The smallest number of characters of a passphrase. */
export const LEAST_CHARACTERS = 8;

const SALT_BYTES = 16;
const SEED_BYTES = 32;
/** A page that shows the progress stays usable: no task of it may take 50 ms on a busy machine. */
const SLICE_MS = 4;
const SPARE_MEMORY = 4 * 1024 * 1024;

/** Runs scrypt (RFC 7914) over a passphrase and a salt; the result has `dkLen` bytes. */
export type ScryptRun = (
  passphrase: string,
  salt: Uint8Array,
  options: Scrypt & { dkLen: number; maxmem: number },
) => Promise<Uint8Array>;

/** The public parameters of a passphrase's key. */
export interface Derivation {
  salt: string;
  scrypt: Scrypt;
  /** Receives the finished part, from 0 to 1. */
  onProgress?: (part: number) => void;
  /** The code that runs scrypt; without it JavaScript, which yields to the event loop meanwhile. */
  run?: ScryptRun;
}

/** The passphrase as it is used: NFKC, because keyboards write one character in several ways. */
export function normalizePassphrase(typed: string): string {
  return typed.normalize("NFKC");
}

/** Why a new passphrase is refused; null if it is not. */
export function refusePassphrase(typed: string): string | null {
  const count = [...normalizePassphrase(typed)].length;
  if (count >= LEAST_CHARACTERS) return null;
  return `it has ${count} of at least ${LEAST_CHARACTERS} characters`;
}

/** A random salt for a new passphrase, as base64url. */
export function createSalt(): string {
  return toBase64Url(crypto.getRandomValues(new Uint8Array(SALT_BYTES)));
}

/**
 * The Ed25519 key of a passphrase: the same passphrase and salt give the same key on every runtime.
 * It takes about half a second.
 * @throws ExplainedError for parameters that make guessing cheaper than `SCRYPT`
 */
export async function derivePassphraseKey(
  passphrase: string,
  { salt, scrypt, onProgress, run }: Derivation,
): Promise<SigningKey> {
  const { N, r, p } = scrypt;
  if (N < SCRYPT.N || r < SCRYPT.r || p < SCRYPT.p) {
    throw new ExplainedError(
      "Cannot derive a key: the daemon names scrypt parameters that are too weak",
    );
  }
  const salted = fromBase64Url(salt);
  if (salted === null) throw new ExplainedError("Cannot derive a key: the salt is not base64url");
  const given = normalizePassphrase(passphrase);
  const maxmem = 128 * r * (N + p) + SPARE_MEMORY;
  const shown = onProgress && { onProgress, asyncTick: SLICE_MS };
  const options = { N, r, p, dkLen: SEED_BYTES, maxmem };
  const seed = await (run?.(given, salted, options) ??
    scryptAsync(given, salted, { ...options, ...shown }));
  try {
    return await signingKeyOf(seed);
  } finally {
    seed.fill(0);
  }
}
