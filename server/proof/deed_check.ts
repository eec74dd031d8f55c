import { canonical } from "../evidence/canonical.ts";
import type { AuditEvent } from "../evidence/schema.ts";
import { toHex, utf8 } from "./encoding.ts";
import type { ProofCrypto } from "./record_check.ts";
import type { ProofRecord } from "./schema.ts";

/** The decisions that a person makes. Each needs a proof while a key is enrolled. */
export const DECISIONS: ReadonlySet<string> = new Set<AuditEvent["type"]>([
  "action.approved",
  "action.replayed",
  "action.rolled_back",
]);

/** The events after which an action no longer waits for a decision. */
export const DECIDED: ReadonlySet<string> = new Set<AuditEvent["type"]>([
  "action.approved",
  "action.rejected",
  "action.expired",
  "action.cancelled",
]);

/**
 * Why the challenge of a proof does not permit this deed: its project, person, verb, action and
 * everything that was asked for. Null if it does. `edit` is the edit that came before an approval.
 */
export async function faultOfDeed(
  { type, project_id, action_id, session_id, actor, data }: AuditEvent,
  { challenge }: ProofRecord,
  edit: AuditEvent | null,
  crypto: ProofCrypto,
): Promise<string | null> {
  const { verb, action_id: proven, digest } = challenge;
  if (challenge.project_id !== null && challenge.project_id !== project_id) {
    return "it is for another project";
  }
  if (actor.kind === "reviewer" && actor.id !== challenge.member_id) {
    return "it is of another person";
  }
  const { asked } = data;
  if (asked !== undefined && asked !== null && await hashOf(asked, crypto) !== digest) {
    return "it is for something else";
  }
  if (verb === "accept_config" || verb === "change_policies") {
    const isIts = type === "policy.changed" && await isOfAcceptance(data, digest, crypto);
    return isIts ? null : "it is for another config";
  }
  if (type === "vote.cast") return faultOfVote(action_id, data, { challenge, edit });
  if (!DECISIONS.has(type)) return null;
  const named = (asked ?? {}) as Record<string, unknown>;
  if (verb === "approve" || verb === "approve_with_edit") {
    if (type !== "action.approved" || proven !== action_id) return "it is for another action";
    const isOwn = data.edited === true
      ? isOfEdit(edit, action_id, named)
      : (asked ? named.digest : digest) === data.digest;
    return isOwn ? null : OTHER_VERSION;
  }
  if (verb === "replay") {
    const isIts = type === "action.replayed" && proven === action_id && digest === data.digest;
    return isIts ? null : "it is for another action";
  }
  if (verb !== "rollback" || type === "action.replayed") return "it is for another deed";
  if (!asked) return "it does not say what was rolled back";
  if (proven === null) {
    return named.session_id === session_id ? null : "it is for another session";
  }
  return proven === (data.rollback_of ?? action_id) ? null : "it is for another action";
}

/** Why the challenge does not permit a vote for this version of the action. */
function faultOfVote(
  action_id: string | null,
  data: AuditEvent["data"],
  { challenge: { verb, action_id: proven, digest, member_id }, edit }: {
    challenge: ProofRecord["challenge"];
    edit: AuditEvent | null;
  },
): string | null {
  const asked = (data.asked ?? null) as Record<string, unknown> | null;
  if (data.member_id !== member_id) return "it is of another person";
  if ((verb !== "approve" && verb !== "approve_with_edit") || proven !== action_id) {
    return "it is for another action";
  }
  if (verb === "approve" && !("base_sha256" in (asked ?? {}))) {
    return (asked ? asked.digest : digest) === data.digest ? null : OTHER_VERSION;
  }
  const isOwn = asked !== null && edit?.data.to === data.digest && isOfEdit(edit, action_id, asked);
  return isOwn ? null : OTHER_VERSION;
}

const OTHER_VERSION = "it is for another version of the action";

/** Why a grant is no part of what the approval before it asked for; null if it is. */
export async function faultOfGrant(
  { seq, action_id, data }: AuditEvent,
  approved: AuditEvent | null,
  crypto: ProofCrypto,
): Promise<string | null> {
  const fault = `event ${seq} adds a grant that nobody signed`;
  const asked = approved?.data.asked as { remember_sha256?: unknown } | undefined;
  if (approved?.action_id !== action_id || !approved.data.proof || !asked) return fault;
  const { scope, ttl_seconds, max_uses, pattern } = data;
  const remember = { scope, ttl_seconds, max_uses, ...pattern !== null && { pattern } };
  // A secret in the pattern is masked in the ledger, so its hash is not the signed one.
  const isMasked = String(pattern).includes("[redacted]");
  const hash = await hashOf(remember, crypto);
  return hash === asked.remember_sha256 || (isMasked && asked.remember_sha256) ? null : fault;
}

function isOfEdit(
  edit: AuditEvent | null,
  action_id: string | null,
  asked: Record<string, unknown>,
): boolean {
  if (edit?.action_id !== action_id || edit.data.from !== asked.digest) return false;
  return asked.content_sha256 === undefined || asked.content_sha256 === edit.data.sha256;
}

/** Whether the acceptance in an event is the signed one: its path, text and number. */
async function isOfAcceptance(
  { path, accepted }: AuditEvent["data"],
  digest: string,
  crypto: ProofCrypto,
): Promise<boolean> {
  const { sha256, number } = (accepted ?? {}) as { sha256?: unknown; number?: unknown };
  // Without a number it is no acceptance that counts. A masked path has not the signed hash.
  if (number === undefined || String(path).includes("[redacted]")) return true;
  return await hashOf({ path, sha256, number }, crypto) === digest;
}

async function hashOf(value: unknown, crypto: ProofCrypto): Promise<string> {
  return toHex(await crypto.sha256(utf8(canonical(value))));
}
