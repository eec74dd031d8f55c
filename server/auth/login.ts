import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { Environment } from "../environment.ts";
import { GateError } from "../errors.ts";
import { type LoginCode, SOLE_MEMBER } from "./schema.ts";
import { createSecret, hexDigestOf } from "./secrets.ts";

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

const StoredKey = z.object({
  digest: z.string().length(64),
  expires_at: z.number(),
  // A file of an older version names no person.
  member_id: z.string().default(SOLE_MEMBER),
});
type StoredKey = z.infer<typeof StoredKey>;

/** The keys of logged-in browsers, each good for twelve hours. The file holds only their digests. */
export class PageKeys {
  readonly #environment: Environment;
  readonly #path: string;
  #keys = new Map<string, StoredKey>();

  constructor(environment: Environment) {
    this.#environment = environment;
    this.#path = join(environment.home, "tokens", "page_keys.json");
  }

  /** Reads the keys of an earlier daemon. Ignores a damaged file: browsers then log in again. */
  async load(): Promise<void> {
    try {
      const stored = z.array(StoredKey).parse(JSON.parse(await readFile(this.#path, "utf8")));
      this.#keys = new Map(stored.map((key) => [key.digest, key]));
    } catch (error) {
      if ((error as { code?: string }).code === "ENOENT") return;
      this.#environment.log("warn", "page keys are damaged: browsers have to log in again");
    }
  }

  /** A new key for a person's browser. */
  async create(member_id: string): Promise<string> {
    const key = createSecret(256);
    const now = this.#environment.now();
    const digest = hexDigestOf(key);
    this.#keys.set(digest, { digest, expires_at: now + KEY_LIFETIME_MS, member_id });
    const valid = [...this.#keys].filter(([, { expires_at }]) => expires_at > now);
    this.#keys = new Map(valid.slice(-MAX_KEYS));
    await this.#save();
    return key;
  }

  /** The person whose browser holds this key; null when the key is unknown or expired. */
  memberOf(key: string): string | null {
    if (key.length !== 43) return null;
    const found = this.#keys.get(hexDigestOf(key));
    return found && found.expires_at > this.#environment.now() ? found.member_id : null;
  }

  async #save(): Promise<void> {
    const temporary = `${this.#path}.${this.#environment.id()}`;
    const text = JSON.stringify([...this.#keys.values()]);
    await writeFile(temporary, text, { mode: 0o600, flag: "wx" });
    await rename(temporary, this.#path);
  }
}
