import type { DaemonChallenge, DaemonProof } from "./schema.ts";

/**
 * A daemon proves that it knows a secret (a page key or a token) before a client sends that secret.
 * This file runs in daemon, command line and browser.
 */

const bytes = new TextEncoder();

/** A question that only a daemon that knows the secret can answer. */
export async function createChallenge(secret: string): Promise<DaemonChallenge> {
  return { key_id: await keyIdOf(await digestOf(secret)), nonce: createNonce() };
}

/** The name of a secret, from its SHA-256. It reveals neither the secret nor its SHA-256. */
export async function keyIdOf(digest: Uint8Array): Promise<string> {
  return toBase64Url((await macOf(digest, "gate key id 1")).subarray(0, 16));
}

/**
 * The answer to a challenge. It covers the origin with its port, so that a program on another port
 * cannot use an answer that it got from the daemon.
 */
export async function answerChallenge(
  digest: Uint8Array,
  nonce: string,
  origin: string,
): Promise<string> {
  return toBase64Url(await macOf(digest, `gate daemon 1\n${nonce}\n${origin}`));
}

/** The header with a client's nonce, and the header in which the daemon answers it. */
export const NONCE_HEADER = "x-gate-nonce";
export const ANSWER_HEADER = "x-gate-daemon";
export const NONCE = /^[\w-]{43}$/;

/** What the daemon signs in each answer to a request that brought a page key and a nonce. */
export function answerText(nonce: string, origin: string): string {
  return `gate answer 1\n${nonce}\n${origin}`;
}

/** True when the daemon that knows the secret signed this answer to the request with the nonce. */
export async function isSigned(
  secret: string,
  nonce: string,
  origin: string,
  { headers }: Response,
): Promise<boolean> {
  const signature = await macOf(await digestOf(secret), answerText(nonce, origin));
  return headers.get(ANSWER_HEADER) === toBase64Url(signature);
}

/** 32 random bytes. */
export function createNonce(): string {
  return toBase64Url(crypto.getRandomValues(new Uint8Array(32)));
}

/** True when the answer shows that the daemon at this origin knows the secret. */
export async function isProved(
  secret: string,
  { nonce }: DaemonChallenge,
  origin: string,
  answer: unknown,
): Promise<boolean> {
  const { proof } = (answer ?? {}) as Partial<DaemonProof>;
  return proof === await answerChallenge(await digestOf(secret), nonce, origin);
}

async function digestOf(secret: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes.encode(secret)));
}

async function macOf(key: Uint8Array, text: string): Promise<Uint8Array> {
  const hmac = { name: "HMAC", hash: "SHA-256" };
  const imported = await crypto.subtle.importKey("raw", Uint8Array.from(key), hmac, false, [
    "sign",
  ]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", imported, bytes.encode(text)));
}

function toBase64Url(value: Uint8Array): string {
  return btoa(String.fromCharCode(...value)).replaceAll("+", "-").replaceAll("/", "_")
    .replaceAll("=", "");
}
