import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Environment } from "../environment.ts";
import { GateError } from "../errors.ts";
import { answerText, keyIdOf } from "./prove_daemon.ts";
import type { LoginCode } from "./schema.ts";
import { createSecret, digestOf, hexDigestOf, macOf } from "./secrets.ts";

/** A browser logs in with a code and then keeps a key. */
export interface Logins {
  codes: LoginCodes;
  keys: PageKeys;
}

const CODE_LIFETIME_MS = 60_000;
const MAX_CODES = 32;
const MAX_WRONG_CODES = 5;
const PAUSE_MS = 60_000;

/** Login codes: each works once, for a minute. Memory holds only their digests. */
export class LoginCodes {
  readonly #now: Environment["now"];
  readonly #codes = new Map<string, { expires: number; member_id: string }>();
  #wrong: number[] = [];

  constructor(environment: Pick<Environment, "now">) {
    this.#now = environment.now;
  }

  /** A new code for a person. */
  create(member_id: string): LoginCode {
    const code = createSecret(128);
    const expires = this.#now() + CODE_LIFETIME_MS;
    this.#dropOld();
    this.#codes.set(hexDigestOf(code), { expires, member_id });
    return {
      code,
      expires_at: new Date(expires).toISOString(),
      path: `/login?code=${code}`,
    };
  }

  /**
   * Uses up a code and returns its person. The pause after wrong codes never rejects a right one,
   * so that guessing cannot lock its owner out.
   * @throws GateError `unauthorized`; `rate_limited` after five wrong codes in a minute
   */
  use(code: string): string {
    const digest = hexDigestOf(code);
    const found = this.#codes.get(digest);
    this.#codes.delete(digest);
    if (found && found.expires > this.#now()) return found.member_id;
    this.#wrong = this.#wrong.filter((at) => at > this.#now() - PAUSE_MS);
    if (this.#wrong.length >= MAX_WRONG_CODES) {
      throw new GateError(
        "rate_limited",
        'Cannot log in: too many wrong links; wait a minute, then run "gate dashboard"',
      );
    }
    this.#wrong.push(this.#now());
    throw new GateError(
      "unauthorized",
      'Cannot log in: the link was used already or has expired; run "gate dashboard" for a new one',
    );
  }

  #dropOld(): void {
    for (const [digest, { expires }] of this.#codes) {
      if (expires <= this.#now() || this.#codes.size >= MAX_CODES) this.#codes.delete(digest);
    }
  }
}

const KEY_LIFETIME_MS = 12 * 60 * 60 * 1000;
const MAX_KEYS = 64;

interface Kept<Holder> {
  /** The id by which a client names the key in a challenge. */
  id: Promise<string>;
  digest: Uint8Array;
  expires: number;
  holder: Holder;
}

/**
 * The keys of logged-in browsers, each good for twelve hours. Only memory holds their digests, so
 * that no key outlives the process and no later program on its port can use one.
 */
export class PageKeys<Holder = string> {
  readonly #now: Environment["now"];
  #keys = new Map<string, Kept<Holder>>();
  #ended = false;

  constructor({ now }: Pick<Environment, "now">) {
    this.#now = now;
  }

  /** A new key for a browser; `holder` is the person. */
  create(holder: Holder): string {
    const key = createSecret(256);
    const digest = digestOf(key);
    const expires = this.#now() + KEY_LIFETIME_MS;
    this.#keys.set(hexDigestOf(key), { id: keyIdOf(digest), digest, expires, holder });
    this.#keys = new Map(this.#valid().slice(-MAX_KEYS));
    return key;
  }

  /** The holder of this key; null when the key is unknown or expired. */
  holderOf(key: string): Holder | null {
    return this.#find(key)?.holder ?? null;
  }

  /**
   * Signs an answer to the holder of this key, so that a page takes none from another program; null
   * when the key is unknown.
   */
  signAnswer(key: string, nonce: string, origin: string): string | null {
    const found = this.#find(key);
    return found ? macOf(found.digest, answerText(nonce, origin)) : null;
  }

  /**
   * Ends every key, also those of later logins. A process that releases its port ends them first:
   * whoever takes the port gets keys from pages that have not noticed yet, while connections of this
   * process are still open.
   */
  end(): void {
    this.#ended = true;
    this.#keys.clear();
  }

  /**
   * The SHA-256 of the key with this id; null when there is none. @throws GateError `unavailable` once
   * the keys have ended: a page must not take that for the answer of another program
   */
  async digestOf(key_id: string): Promise<Uint8Array | null> {
    if (this.#ended) throw new GateError("unavailable", "Cannot prove anything: gate is stopping");
    for (const [, { id, digest }] of this.#valid()) if (await id === key_id) return digest;
    return null;
  }

  #find(key: string): Kept<Holder> | null {
    if (key.length !== 43 || this.#ended) return null;
    const found = this.#keys.get(hexDigestOf(key));
    return found && found.expires > this.#now() ? found : null;
  }

  #valid(): [string, Kept<Holder>][] {
    if (this.#ended) return [];
    return [...this.#keys].filter(([, { expires }]) => expires > this.#now());
  }
}

/** Removes the file in which older versions kept the digests of page keys. */
export async function removeKeyFile(home: string): Promise<void> {
  await rm(join(home, "tokens", "page_keys.json"), { force: true });
}
