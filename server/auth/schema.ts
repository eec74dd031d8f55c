import { z } from "zod";
import type { Proof } from "../proof/schema.ts";

/** The rights of a credential: an agent submits, a viewer reads, a reviewer does everything. */
export const Scope = z.enum(["agent", "viewer", "reviewer"]);
export type Scope = z.infer<typeof Scope>;

/** The id of the only person while there is no team. */
export const SOLE_MEMBER = "reviewer";

/** The sender of a request, as the guard identified it. */
export interface Caller {
  scope: Scope;
  /** The name in `decided_by` and in audit events. */
  id: string;
  /** The person behind a reviewer's or viewer's credential; null for an agent. */
  member_id: string | null;
  /** The credential: a token file or the page's key; `none` where none is needed (`--auth none`). */
  via: "token" | "page" | "none";
  /** The proof that came with the request; only a decision checks it. */
  proof: Proof | null;
  /** The proofs of a request about several actions, in the order of its items. */
  proofs?: readonly (Proof | null)[];
  /** The value of `X-Gate-Session`: the secret of a session. Agents prove with it which one is theirs. */
  session_secret?: string;
}

/** Answer of `POST /api/auth/login-code`. */
export const LoginCode = z.object({
  code: z.string(),
  expires_at: z.iso.datetime(),
  path: z.string().describe("what to open in a browser, after the daemon's address"),
});
export type LoginCode = z.infer<typeof LoginCode>;

/** Body of `POST /api/auth/prove-daemon`. The client sends its secret only after a right answer. */
export const DaemonChallenge = z.strictObject({
  key_id: z.string().regex(/^[\w-]{22}$/).describe("names the page key or token, reveals nothing"),
  nonce: z.string().regex(/^[\w-]{43}$/).describe("32 random bytes in base64url"),
});
export type DaemonChallenge = z.infer<typeof DaemonChallenge>;

/** Answer of `POST /api/auth/prove-daemon`. */
export const DaemonProof = z.object({
  proof: z.string().describe("HMAC-SHA-256 under the SHA-256 of the secret, in base64url"),
});
export type DaemonProof = z.infer<typeof DaemonProof>;
