import canonicalize from "canonicalize";
import type { Challenge } from "./schema.ts";

/** The text that a person's key signs. It names the deed, so no other deed can use the signature. */
export function statementOf(challenge: Challenge): string {
  const { nonce, expires_at, verb, project_id, action_id, digest, member_id, head } = challenge;
  const signed = { nonce, expires_at, verb, project_id, action_id, digest, member_id, head };
  return `gate proof 1\n${canonicalText(signed)}`;
}

/** What a reviewer adds to an approval. */
export interface ApprovalExtras {
  remember?: unknown;
  base_sha256?: string | null | undefined;
  content?: string | undefined;
  encoding?: "utf8" | "base64" | undefined;
  command?: string | undefined;
  permit?: readonly string[] | undefined;
}

/** Everything that an approval permits, as hashes, so that the ledger can keep it whole. */
export interface ApprovalAsked {
  /** The digest of the held action. */
  digest: string;
  remember_sha256?: string;
  base_sha256?: string | null;
  content_sha256?: string;
  command_sha256?: string;
  /** Guarded places of the project that the command may change in this run. */
  permit?: readonly string[];
}

/** Lowercase hex of the SHA-256 of these bytes. */
type Sha256 = (bytes: Uint8Array<ArrayBuffer>) => string | Promise<string>;

/**
 * What an approval asks for and the digest of its challenge: the action's own digest, or with
 * anything added the SHA-256 of the RFC 8785 form of `asked`.
 */
export async function approvalAsked(
  digest: string,
  { remember, base_sha256, content, encoding, command, permit }: ApprovalExtras,
  sha256: Sha256,
): Promise<{ asked: ApprovalAsked | null; digest: string }> {
  const added = {
    ...remember !== undefined && { remember_sha256: await sha256(utf8(canonicalText(remember))) },
    ...base_sha256 !== undefined && { base_sha256 },
    ...content !== undefined && { content_sha256: await sha256(bytesOf(content, encoding)) },
    ...command !== undefined && { command_sha256: await sha256(utf8(command)) },
    ...permit !== undefined && { permit },
  };
  if (Object.keys(added).length === 0) return { asked: null, digest };
  const asked = { digest, ...added };
  return { asked, digest: await sha256(utf8(canonicalText(asked))) };
}

/** The RFC 8785 form of a JSON value. */
export function canonicalText(value: unknown): string {
  const text = canonicalize(value);
  if (text === undefined) throw new TypeError("Cannot write as JSON: the value has no JSON form");
  return text;
}

/** The bytes of base64url without padding; null for any other text. */
export function fromBase64Url(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    const bytes = fromBase64(text.replaceAll("-", "+").replaceAll("_", "/"));
    // The same bytes have several spellings; only the canonical one is accepted.
    return toBase64Url(bytes) === text ? bytes : null;
  } catch {
    return null;
  }
}

export function toBase64Url(bytes: Uint8Array): string {
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

function bytesOf(content: string, encoding: "utf8" | "base64" | undefined) {
  return encoding === "base64" ? fromBase64(content) : utf8(content);
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
}

/** The text as UTF-8. */
export function utf8(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}
