import type { DaemonChallenge, DaemonProof } from "./schema.ts";

/**
 * A daemon proves that it knows a secret (a page key or a token) before a client sends that secret.
 * This file runs in daemon, command line and browser.
 */

const bytes = new TextEncoder();

/** A question that only a daemon that knows the secret can answer. */
export async function createChallenge(secret: string): Promise<DaemonChallenge> {
  const nonce = toBase64Url(crypto.getRandomValues(new Uint8Array(32)));
  return { key_id: await keyIdOf(await digestOf(secret)), nonce };
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
export const NONCE = /^[\w-]{22,43}$/;

/** What the daemon signs in each answer to a request that brought a page key and a nonce. */
export function answerText(nonce: string, origin: string): string {
  return `gate answer 1\n${nonce}\n${origin}`;
}

/** Checks that answers come from the daemon that knows a secret. */
export class AnswerCheck {
  readonly #key: Promise<CryptoKey>;

  constructor(secret: string) {
    this.#key = digestOf(secret).then(importKey);
  }

  /** A new nonce for a request. */
  createNonce(): string {
    return toBase64Url(crypto.getRandomValues(new Uint8Array(16)));
  }

  /** True when the answer to the request with this nonce is the daemon's. */
  async isDaemons(answer: Response, nonce: string, origin: string): Promise<boolean> {
    const given = answer.headers.get(ANSWER_HEADER);
    if (given === null) return false;
    return given === toBase64Url(await sign(await this.#key, answerText(nonce, origin)));
  }
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
  return await sign(await importKey(key), text);
}

function importKey(key: Uint8Array): Promise<CryptoKey> {
  const hmac = { name: "HMAC", hash: "SHA-256" };
  return crypto.subtle.importKey("raw", Uint8Array.from(key), hmac, false, ["sign"]);
}

async function sign(key: CryptoKey, text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, bytes.encode(text)));
}

function toBase64Url(value: Uint8Array): string {
  return btoa(String.fromCharCode(...value)).replaceAll("+", "-").replaceAll("/", "_")
    .replaceAll("=", "");
}
