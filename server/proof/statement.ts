import canonicalize from "canonicalize";
import type { Challenge } from "./schema.ts";

/** The text that a person's key signs. It names the deed, so no other deed can use the signature. */
export function statementOf(challenge: Challenge): string {
  const { nonce, expires_at, verb, project_id, action_id, digest, member_id, head } = challenge;
  const signed = { nonce, expires_at, verb, project_id, action_id, digest, member_id, head };
  return `gate proof 1\n${canonicalText(signed)}`;
}

/** What a reviewer adds to an approval. The digest of the challenge covers all of it. */
export interface ApprovalExtras {
  remember?: unknown;
  base_sha256?: string | null | undefined;
  content?: string | undefined;
  encoding?: string | undefined;
  command?: string | undefined;
}

/**
 * The text whose SHA-256 an approval's challenge has as its digest; null when the digest is the
 * action's own, because nothing is added to the approval.
 */
export function approvalText(digest: string, extras: ApprovalExtras): string | null {
  const added = Object.entries({ ...extras }).filter(([, value]) => value !== undefined);
  if (added.length === 0) return null;
  return canonicalText({ ...Object.fromEntries(added), digest });
}

/** The RFC 8785 form of a JSON value. */
export function canonicalText(value: unknown): string {
  const text = canonicalize(value);
  if (text === undefined) throw new TypeError("Cannot write as JSON: the value has no JSON form");
  return text;
}
