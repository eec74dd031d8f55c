import type { AuditEvent } from "../evidence/schema.ts";
import { History } from "./history.ts";
import { toHex } from "./public_key.ts";
import { checkRecord, type ProofCrypto } from "./record_check.ts";
import type { EnrolledKey, ProofRecord } from "./schema.ts";
import { canonicalText, utf8 } from "./statement.ts";

/** A challenge is good for this long. */
export const CHALLENGE_MS = 60_000;

/** A proof names a head among this many events before it: more than a busy minute has. */
const MAX_HEADS = 65_536;

/** The decisions that a person makes. Each needs a proof while a key is enrolled. */
const DECISIONS: ReadonlySet<string> = new Set<AuditEvent["type"]>([
  "action.approved",
  "action.replayed",
  "action.rolled_back",
]);

/**
 * Checks the proofs in one ledger, event by event, against the keys that its `proof.changed` events
 * name at that time.
 */
export class LedgerProofs {
  readonly #crypto: ProofCrypto;
  readonly #history: History;
  /** The key before the last change, for a decision that was on its way meanwhile. */
  #before: { key: EnrolledKey; until: number } | null = null;
  /** The newest edit: an approval with an edit comes right after it. */
  #edit: AuditEvent | null = null;
  /** The newest approval: the grant that it makes comes right after it. */
  #approved: AuditEvent | null = null;
  readonly #heads = new Set<string>();
  /** The use of each nonce. */
  readonly #uses = new Map<string, string>();

  constructor(crypto: ProofCrypto) {
    this.#crypto = crypto;
    this.#history = new History(crypto);
  }

  /** The fault of the next event's proof; null if there is none. Most events return at once. */
  check(event: AuditEvent): null | Promise<string | null> {
    const isEnrolled = this.#history.changes.length > 0;
    const isNeeded = this.#history.key !== null && event.actor.kind === "reviewer" &&
      DECISIONS.has(event.type);
    if (event.type === "action.edited") this.#edit = event;
    if (event.type === "action.approved") this.#approved = event;
    const isGrant = this.#history.key !== null && event.type === "grant.added" &&
      event.actor.kind === "reviewer";
    const isProven = event.data.proof !== undefined && event.data.proof !== null;
    const checked = event.type === "proof.changed"
      ? this.#checkChange(event)
      : isGrant
      ? this.#checkGrant(event, this.#approved)
      : isNeeded || isProven
      ? this.#checkDeed(event)
      : null;
    if (isEnrolled || event.type === "proof.changed") this.#noteHead(event.hash);
    return checked;
  }

  async #checkChange(event: AuditEvent): Promise<string | null> {
    const { key } = this.#history;
    const fault = await this.#history.add(event.data);
    if (fault !== null) return `event ${event.seq} changes the proof, but ${fault}`;
    this.#before = key && { key, until: Date.parse(event.at) + CHALLENGE_MS };
    return null;
  }

  /** A grant is part of what the approval before it asked for. */
  async #checkGrant(
    { seq, action_id, data }: AuditEvent,
    approved: AuditEvent | null,
  ): Promise<string | null> {
    const fault = `event ${seq} adds a grant that nobody signed`;
    const asked = approved?.data.asked as { remember_sha256?: unknown } | undefined;
    if (approved?.action_id !== action_id || !approved.data.proof || !asked) return fault;
    const { scope, ttl_seconds, max_uses, pattern } = data;
    const remember = { scope, ttl_seconds, max_uses, ...pattern !== null && { pattern } };
    const hash = toHex(await this.#crypto.sha256(utf8(canonicalText(remember))));
    // A secret in the pattern is masked in the ledger, so its hash is not the signed one.
    const isMasked = String(pattern).includes("[redacted]");
    return hash === asked.remember_sha256 || (isMasked && asked.remember_sha256) ? null : fault;
  }

  async #checkDeed(event: AuditEvent): Promise<string | null> {
    const record = event.data.proof as ProofRecord | null | undefined;
    if (!record) {
      return `event ${event.seq} (${event.type}) has no proof, although a key was enrolled`;
    }
    let fault: string | null;
    try {
      fault = await this.#faultOf(event, record);
    } catch {
      fault = "it is damaged";
    }
    return fault && `the proof of event ${event.seq} is not valid: ${fault}`;
  }

  async #faultOf(event: AuditEvent, record: ProofRecord): Promise<string | null> {
    const { challenge } = record;
    const key = this.#keyOf(event, record);
    if (key === null) return "no key was enrolled";
    if (challenge.project_id !== null && challenge.project_id !== event.project_id) {
      return "it is for another project";
    }
    if (event.actor.kind === "reviewer" && event.actor.id !== challenge.member_id) {
      return "it is of another person";
    }
    if (challenge.head !== null && !this.#heads.has(challenge.head)) {
      return "it names an event that is not in this ledger";
    }
    return await this.#faultOfDeed(event, record) ?? this.#faultOfNonce(event, record) ??
      await checkRecord(record, key, this.#crypto);
  }

  #keyOf(event: AuditEvent, { key_id }: ProofRecord): EnrolledKey | null {
    const { key } = this.#history;
    const before = this.#before;
    if (key?.key_id === key_id || before === null) return key;
    const isInTime = before.key.key_id === key_id && Date.parse(event.at) <= before.until;
    return isInTime ? before.key : key;
  }

  /** Whether the proof permits this deed: its verb, its action and everything that was asked for. */
  async #faultOfDeed(
    { type, action_id, session_id, data }: AuditEvent,
    { challenge: { verb, action_id: proven, digest } }: ProofRecord,
  ): Promise<string | null> {
    const { asked } = data;
    if (asked !== undefined && asked !== null) {
      const found = toHex(await this.#crypto.sha256(utf8(canonicalText(asked))));
      if (found !== digest) return "it is for something else";
    }
    if (!DECISIONS.has(type)) return null;
    const named = (asked ?? {}) as Record<string, unknown>;
    if (verb === "approve" || verb === "approve_with_edit") {
      if (type !== "action.approved" || proven !== action_id) return "it is for another action";
      const isOwn = data.edited === true
        ? this.#isOfEdit(action_id, named)
        : (asked ? named.digest : digest) === data.digest;
      return isOwn ? null : "it is for another version of the action";
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

  #isOfEdit(action_id: string | null, asked: Record<string, unknown>): boolean {
    const edit = this.#edit;
    if (edit?.action_id !== action_id || edit.data.from !== asked.digest) return false;
    return asked.content_sha256 === undefined || asked.content_sha256 === edit.data.sha256;
  }

  /** A proof counts once; the rollback of a session consists of many events. */
  #faultOfNonce(
    { seq, session_id }: AuditEvent,
    { challenge: { nonce, verb, action_id } }: ProofRecord,
  ): string | null {
    const use = verb === "rollback" && action_id === null
      ? `session ${session_id}`
      : `event ${seq}`;
    const known = this.#uses.get(nonce) ?? use;
    this.#uses.set(nonce, known);
    return known === use ? null : "it was used before";
  }

  #noteHead(hash: string): void {
    this.#heads.add(hash);
    if (this.#heads.size <= MAX_HEADS) return;
    for (const oldest of this.#heads) {
      this.#heads.delete(oldest);
      break;
    }
  }
}
