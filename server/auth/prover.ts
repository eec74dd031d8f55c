import type { PageKeys } from "./login.ts";
import { answerChallenge, keyIdOf } from "./prove_daemon.ts";
import type { DaemonChallenge, DaemonProof } from "./schema.ts";
import { digestOf } from "./secrets.ts";
import type { Tokens } from "./tokens.ts";

/** Proves to clients that this daemon knows their page key or token. */
export class Prover {
  readonly #keys: PageKeys<unknown>;
  readonly #tokens: Promise<Map<string, Uint8Array>>;

  constructor(keys: PageKeys<unknown>, tokens: Partial<Tokens> = {}) {
    this.#keys = keys;
    this.#tokens = mapById(Object.values(tokens));
  }

  /** The answer to a challenge at an origin; null when no key or token has this id. */
  async prove({ key_id, nonce }: DaemonChallenge, origin: string): Promise<DaemonProof | null> {
    const digest = (await this.#tokens).get(key_id) ?? await this.#keys.digestOf(key_id);
    return digest ? { proof: await answerChallenge(digest, nonce, origin) } : null;
  }
}

async function mapById(secrets: string[]): Promise<Map<string, Uint8Array>> {
  const digests = secrets.map((secret) => digestOf(secret));
  return new Map(
    await Promise.all(digests.map(async (digest) => [await keyIdOf(digest), digest] as const)),
  );
}
