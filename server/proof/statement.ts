import { canonical } from "../evidence/canonical.ts";
import type { Challenge } from "./schema.ts";

/** The text that a person's key signs. It names the deed, so no other deed can use the signature. */
export function statementOf(challenge: Challenge): string {
  const { nonce, expires_at, verb, project_id, action_id, digest, member_id, head } = challenge;
  const signed = { nonce, expires_at, verb, project_id, action_id, digest, member_id, head };
  return `gate proof 1\n${canonical(signed)}`;
}

/**
 * The text that a passkey signs for several approvals at once: the SHA-256 of each statement, as
 * base64url. Its first line tells it from the statement of one deed.
 */
export function statementTogether(hashes: readonly string[]): string {
  return `gate proofs 1\n${canonical(hashes)}`;
}
