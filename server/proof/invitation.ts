import { canonical } from "../evidence/canonical.ts";
import { fromBase64Url, toBase64Url, utf8 } from "./encoding.ts";
import { ExplainedError } from "./explained_error.ts";
import type { EnrolledKey, Invited } from "./schema.ts";
import { signingKeyOf } from "./signing_key.ts";

/**
 * The login link of a member holds a key of its own. The admin who creates the link signs its public
 * part, and the member signs their new key with it. The log keeps both signatures, so nobody can put
 * another key in its place.
 */

/** A link permits a new key for this long: the member chooses a passphrase in this time. */
export const INVITATION_MS = 30 * 60_000;

const SEED_BYTES = 32;

/** The fields that an admin signs when they create a login link. */
export interface LoginAsked {
  member_id: string;
  role?: "reviewer" | "admin";
  invitation?: string;
}

/** The form of a login link that its challenge covers. Without an invitation it only logs in. */
export function loginAsked({ member_id, role, invitation }: LoginAsked): LoginAsked {
  return invitation === undefined || role === undefined
    ? { member_id }
    : { member_id, role, invitation };
}

/** A new key for a link: the seed goes into the link, the public key to the daemon. */
export async function createInvitation(): Promise<{ seed: string; public_key: string }> {
  const seed = crypto.getRandomValues(new Uint8Array(SEED_BYTES));
  const { public_key } = await signingKeyOf(seed);
  return { seed: toBase64Url(seed), public_key };
}

/** Signs a member's new key with the key of their link. @throws ExplainedError for a damaged link */
export async function signInvited(
  seed: string,
  enrolled: Pick<EnrolledKey, "public_key" | "member_id">,
): Promise<Invited> {
  const bytes = fromBase64Url(seed);
  if (bytes?.length !== SEED_BYTES) {
    throw new ExplainedError(
      "Cannot use the login link: its invitation is damaged; ask for a new link",
    );
  }
  const { public_key, sign } = await signingKeyOf(bytes);
  return { public_key, signature: await sign(utf8(statementOfInvited(enrolled))) };
}

/** The text that a link's key signs. */
export function statementOfInvited(
  { public_key, member_id }: Pick<EnrolledKey, "public_key" | "member_id">,
): string {
  return `gate invitation 1\n${canonical({ public_key, member_id })}`;
}
