import { canonical } from "../evidence/canonical.ts";
import { fromBase64, utf8 } from "./encoding.ts";

/** The fields that a reviewer adds to an approval. */
export interface ApprovalExtras {
  remember?: unknown;
  base_sha256?: string | null | undefined;
  content?: string | undefined;
  encoding?: "utf8" | "base64" | undefined;
  command?: string | undefined;
  permit?: readonly string[] | undefined;
  take?: readonly string[] | undefined;
  open?: unknown;
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
  /** The files whose changes are taken over, of all that a command has changed. */
  take?: readonly string[];
  /** The walls of the sandbox that it opens. */
  open?: unknown;
}

/** Lowercase hex of the SHA-256 of these bytes. */
type Sha256 = (bytes: Uint8Array<ArrayBuffer>) => string | Promise<string>;

/**
 * The request of an approval and the digest of its challenge. Without added fields, `asked` is null
 * and the digest is that of the action; with them, it is the SHA-256 of the RFC 8785 form of `asked`.
 */
export async function approvalAsked(
  digest: string,
  { remember, base_sha256, content, encoding, command, permit, take, open }: ApprovalExtras,
  sha256: Sha256,
): Promise<{ asked: ApprovalAsked | null; digest: string }> {
  const added = {
    ...remember !== undefined && { remember_sha256: await sha256(utf8(canonical(remember))) },
    ...base_sha256 !== undefined && { base_sha256 },
    ...content !== undefined && { content_sha256: await sha256(bytesOf(content, encoding)) },
    ...command !== undefined && { command_sha256: await sha256(utf8(command)) },
    ...permit !== undefined && { permit },
    ...take !== undefined && { take },
    ...open !== undefined && { open },
  };
  if (Object.keys(added).length === 0) return { asked: null, digest };
  const asked = { digest, ...added };
  return { asked, digest: await sha256(utf8(canonical(asked))) };
}

function bytesOf(content: string, encoding: "utf8" | "base64" | undefined) {
  return encoding === "base64" ? fromBase64(content) : utf8(content);
}
