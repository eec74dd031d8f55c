import type { Environment } from "../environment.ts";
import { GateError } from "../errors.ts";
import { createSecret, digestOf } from "./digest.ts";
import type { PageKeys } from "./page_keys.ts";
import type { LoginCode } from "./schema.ts";

/** What logging a browser in takes. */
export interface Logins {
  codes: LoginCodes;
  keys: PageKeys;
}

const LIFETIME_MS = 60_000;
const MOST_CODES = 32;
const MOST_WRONG = 5;
const PAUSE_MS = 60_000;

/** The codes with which a browser logs in: each works once, for a minute. */
export class LoginCodes {
  readonly #now: Environment["now"];
  readonly #codes = new Map<string, number>();
  #wrong: number[] = [];

  constructor(environment: Pick<Environment, "now">) {
    this.#now = environment.now;
  }

  /** A new code, when it ends and what a browser opens. */
  create(): LoginCode {
    const code = createSecret(128);
    const expires = this.#now() + LIFETIME_MS;
    this.#forget();
    this.#codes.set(hex(code), expires);
    return {
      code,
      expires_at: new Date(expires).toISOString(),
      path: `/login?code=${code}`,
    };
  }

  /**
   * Uses a code up. A right one always works: nobody who guesses may keep its owner out.
   * @throws GateError `unauthorized`, after five wrong ones `rate_limited`
   */
  use(code: string): void {
    const digest = hex(code);
    const expires = this.#codes.get(digest);
    this.#codes.delete(digest);
    if (expires !== undefined && expires > this.#now()) return;
    this.#wrong = this.#wrong.filter((at) => at > this.#now() - PAUSE_MS);
    if (this.#wrong.length >= MOST_WRONG) {
      throw new GateError(
        "rate_limited",
        'Cannot log in: wait a minute, then run "gate dashboard"',
      );
    }
    this.#wrong.push(this.#now());
    throw new GateError(
      "unauthorized",
      'Cannot log in: this link was used already or is too old. Run "gate dashboard" for a new one',
    );
  }

  #forget(): void {
    for (const [digest, expires] of this.#codes) {
      if (expires <= this.#now() || this.#codes.size >= MOST_CODES) this.#codes.delete(digest);
    }
  }
}

function hex(code: string): string {
  return Buffer.from(digestOf(code)).toString("hex");
}
