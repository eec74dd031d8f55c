import type { AuditEvent } from "../evidence/schema.ts";
import { DECISIONS, faultOfDeed, faultOfGrant } from "./deed_check.ts";
import { History } from "./history.ts";
import { checkRecord, type ProofCrypto } from "./record_check.ts";
import type { EnrolledKey, ProofRecord } from "./schema.ts";

/** A challenge is good for this long. */
export const CHALLENGE_MS = 60_000;

/** A proof names a head among this many events before it: more than a busy minute has. */
const MAX_HEADS = 65_536;

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
      ? faultOfGrant(event, this.#approved, this.#crypto)
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
    if (challenge.head !== null && !this.#heads.has(challenge.head)) {
      return "it names an event that is not in this ledger";
    }
    return await faultOfDeed(event, record, this.#edit, this.#crypto) ??
      this.#faultOfNonce(event, record) ?? await checkRecord(record, key, this.#crypto);
  }

  #keyOf(event: AuditEvent, { key_id }: ProofRecord): EnrolledKey | null {
    const { key } = this.#history;
    const before = this.#before;
    if (key?.key_id === key_id || before === null) return key;
    const isInTime = before.key.key_id === key_id && Date.parse(event.at) <= before.until;
    return isInTime ? before.key : key;
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
