import { GateError } from "../errors.ts";
import type { RawRequest } from "../runtime/serve.ts";
import type { PageKeys } from "./login.ts";
import { type Caller, type Scope, SOLE_MEMBER } from "./schema.ts";
import { digestOf, isSame } from "./secrets.ts";
import { type Owners, SOLE_OWNERS, type Tokens } from "./tokens.ts";

const BEARER = /^Bearer ([\w.~+/=-]{1,512})$/;

// A request brings its proof in its body or header, which the app reads later.
const NO_PROOF = { proof: null };

interface Options {
  /** Accepts requests without a credential (`--auth none`). */
  open?: boolean;
  owners?: Owners;
  /** The role of the person of a page key; null ends the key. Everybody decides without it. */
  role_of?: (member_id: string) => "viewer" | "reviewer" | "admin" | null;
}

/** Identifies the caller of a request by its credential. */
export class Credentials {
  readonly #tokens: { scope: Scope; digest: Uint8Array }[];
  readonly #owners: Owners;
  readonly #page_keys: PageKeys;
  readonly #open: boolean;
  readonly #role_of: NonNullable<Options["role_of"]>;

  constructor(tokens: Tokens, page_keys: PageKeys, options: Options = {}) {
    this.#tokens = Object.entries(tokens).map(([scope, token]) => ({
      scope: scope as Scope,
      digest: digestOf(token),
    }));
    this.#page_keys = page_keys;
    this.#owners = options.owners ?? SOLE_OWNERS;
    this.#open = options.open ?? false;
    this.#role_of = options.role_of ?? (() => "admin");
  }

  /** The caller. A request must carry exactly one valid credential. @throws GateError `unauthorized` */
  identify(headers: RawRequest["headers"]): Caller {
    const given = headers.filter(([name]) => name === "authorization" || name === "x-gate-key");
    if (given.length === 0 && this.#open) {
      return { ...NO_PROOF, scope: "reviewer", id: "anyone", member_id: SOLE_MEMBER, via: "none" };
    }
    if (given.length !== 1) throw unauthorized(given.length === 0 ? "none came" : "two came");
    const [name, value] = given[0]!;
    const caller = name === "x-gate-key" ? this.#byKey(value) : this.#byToken(value);
    if (!caller) throw unauthorized("the one that came is not valid");
    // Where no credential is needed, a valid one must not make a decision harder.
    return this.#open && caller.scope === "reviewer" ? { ...caller, via: "none" } : caller;
  }

  #byToken(header: string): Caller | null {
    const token = BEARER.exec(header)?.[1];
    if (!token) return null;
    const digest = digestOf(token);
    // Compares every token, so that the time reveals nothing.
    const [found] = this.#tokens.filter((known) => isSame(known.digest, digest));
    if (!found) return null;
    const { scope } = found;
    const member_id = this.#owners[scope];
    const id = scope === "reviewer" ? member_id! : scope;
    return { ...NO_PROOF, scope, id, member_id, via: "token" };
  }

  #byKey(key: string): Caller | null {
    const member_id = this.#page_keys.holderOf(key);
    if (member_id === null) return null;
    // Asked each time, so that a removed member's logins end at once.
    const role = this.#role_of(member_id);
    if (role === null) return null;
    const scope = role === "viewer" ? "viewer" : "reviewer";
    return { ...NO_PROOF, scope, id: member_id, member_id, via: "page" };
  }
}

function unauthorized(why: string): GateError {
  return new GateError(
    "unauthorized",
    `Cannot answer without a credential: ${why}. In a terminal use "gate api", or send ` +
      `"Authorization: Bearer <what gate token prints>"; in a browser open "gate dashboard"`,
  );
}
