import { GateError } from "../errors.ts";
import type { RawRequest } from "../runtime/serve.ts";
import { digestOf, isSame } from "./digest.ts";
import type { PageKeys } from "./page_keys.ts";
import type { Caller, Scope } from "./schema.ts";
import type { Tokens } from "./tokens.ts";

const BEARER = /^Bearer ([\w.~+/=-]{1,512})$/;

/** Tells who is calling from what a request carries. */
export class Credentials {
  readonly #digests: [scope: Scope, digest: Uint8Array][];
  readonly #page_keys: PageKeys;
  readonly #open: boolean;

  constructor(tokens: Tokens, page_keys: PageKeys, options: { open?: boolean } = {}) {
    this.#digests = Object.entries(tokens).map((entry) => [entry[0] as Scope, digestOf(entry[1])]);
    this.#page_keys = page_keys;
    this.#open = options.open ?? false;
  }

  /** The caller that exactly one good credential names. @throws GateError `unauthorized` */
  identify(headers: RawRequest["headers"]): Caller {
    const given = headers.filter(([name]) => name === "authorization" || name === "x-gate-key");
    if (given.length === 0 && this.#open) return { scope: "reviewer", id: "anyone", via: "none" };
    if (given.length !== 1) throw unauthorized(given.length === 0 ? "none came" : "two came");
    const [name, value] = given[0]!;
    const caller = name === "x-gate-key" ? this.#byKey(value) : this.#byToken(value);
    if (!caller) throw unauthorized("the one that came is not valid");
    return caller;
  }

  #byToken(header: string): Caller | null {
    const token = BEARER.exec(header)?.[1];
    if (!token) return null;
    const digest = digestOf(token);
    const found = this.#digests.filter((entry) => isSame(entry[1], digest))[0];
    return found ? { scope: found[0], id: found[0], via: "token" } : null;
  }

  #byKey(key: string): Caller | null {
    return this.#page_keys.has(key) ? { scope: "reviewer", id: "reviewer", via: "page" } : null;
  }
}

function unauthorized(why: string): GateError {
  return new GateError(
    "unauthorized",
    `Cannot answer without a credential: ${why}. In a terminal use "gate api", or send ` +
      `"Authorization: Bearer <what gate token prints>"; in a browser open "gate dashboard"`,
  );
}
