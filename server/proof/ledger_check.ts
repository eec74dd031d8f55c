import type { AuditEvent } from "../evidence/schema.ts";
import { DECIDED, DECISIONS, faultOfDeed, faultOfGrant } from "./deed_check.ts";
import { Heads } from "./heads.ts";
import { History } from "./history.ts";
import { CHALLENGE_MS, faultOfPause, faultOfTime, NOT_HELD, OUTDATED } from "./place_check.ts";
import { checkRecord, type ProofCrypto } from "./record_check.ts";
import type { EnrolledKey, ProofRecord } from "./schema.ts";

/**
 * Checks the proofs in one ledger, event by event, against the keys that its `proof.changed` events
 * name at that time.
 */
export class LedgerProofs {
  readonly #crypto: ProofCrypto;
  readonly #history: History;
  /** The keys that changes have replaced, for decisions that were on their way meanwhile. */
  readonly #before = new Map<string, { key: EnrolledKey; until: number }>();
  /** The newest edit: an approval with an edit comes right after it. */
  #edit: AuditEvent | null = null;
  /** The newest approval: the grant that it makes comes right after it. */
  #approved: AuditEvent | null = null;
  readonly #heads = new Heads();
  /** The use of each nonce, and the time of the last one. */
  readonly #uses = new Map<string, { use: string; at: number }>();
  /** The actions that wait for a decision. */
  readonly #held = new Set<string>();
  /** Whether several machines have shared the ledger, so that its times are of several clocks. */
  #isShared = false;
  /** The highest number of an acceptance of each config. */
  readonly #accepted = new Map<string, number>();

  constructor(crypto: ProofCrypto) {
    this.#crypto = crypto;
    this.#history = new History(crypto);
  }

  /** The fault of the next event's proof; null if there is none. Most events return at once. */
  check(event: AuditEvent): null | Promise<string | null> {
    const isEnrolled = this.#history.changes.length > 0;
    const isNeeded = this.#history.key !== null && event.actor.kind === "reviewer" &&
      DECISIONS.has(event.type);
    if (event.type === "machine.joined") this.#isShared = true;
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
    // The checks above have looked at their place before they wait.
    this.#noteHeld(event);
    this.#noteAccepted(event);
    if (isEnrolled || event.type === "proof.changed") {
      this.#heads.note(event.hash, Date.parse(event.at));
    }
    return checked;
  }

  async #checkChange(event: AuditEvent): Promise<string | null> {
    const before = this.#history.keys;
    const fault = await this.#history.add(event.data);
    if (fault !== null) return `event ${event.seq} changes the proof, but ${fault}`;
    const now = this.#history.keys;
    for (const key of before) {
      if (now.includes(key)) continue;
      this.#before.set(key.key_id, { key, until: Date.parse(event.at) + CHALLENGE_MS });
    }
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
    if (challenge.head !== null && this.#heads.numberOf(challenge.head) === null) {
      return "it names an event that is not in this ledger";
    }
    const misplaced = this.#faultOfPlace(event, record);
    return await faultOfDeed(event, record, this.#edit, this.#crypto) ??
      this.#faultOfNonce(event, record) ?? await checkRecord(record, key, this.#crypto) ??
      misplaced;
  }

  /** Whether the proof can have been given just before this event. */
  #faultOfPlace({ type, at, action_id, data }: AuditEvent, { challenge }: ProofRecord) {
    const { verb, head, nonce } = challenge;
    const number = head === null ? this.#heads.newest : this.#heads.numberOf(head)!;
    const latest = Math.max(Date.parse(at), this.#heads.latestAfter(number) ?? -Infinity);
    // A rollback of a session takes its time, event by event.
    const late = this.#uses.has(nonce)
      ? null
      : faultOfTime(challenge, latest, { is_shared: this.#isShared });
    if (late !== null) return late;
    const { config, number: own } = acceptedIn(data);
    const isOutdated = own !== undefined && own <= (this.#accepted.get(config) ?? 0);
    if (type === "policy.changed" && isOutdated) return OUTDATED;
    const approves = verb === "approve" || verb === "approve_with_edit";
    return approves && !this.#held.has(action_id ?? "") ? NOT_HELD : null;
  }

  #keyOf(event: AuditEvent, { key_id }: ProofRecord): EnrolledKey | null {
    const key = this.#history.keys.find((one) => one.key_id === key_id);
    if (key) return key;
    const before = this.#before.get(key_id);
    return before && Date.parse(event.at) <= before.until ? before.key : this.#history.key;
  }

  /** A proof counts once; the rollback of a session consists of many events. */
  #faultOfNonce(
    { seq, session_id, at }: AuditEvent,
    { challenge: { nonce, verb, action_id } }: ProofRecord,
  ): string | null {
    const use = verb === "rollback" && action_id === null
      ? `session ${session_id}`
      : `event ${seq}`;
    const known = this.#uses.get(nonce);
    const now = Date.parse(at);
    this.#uses.set(nonce, { use: known?.use ?? use, at: now });
    if (known === undefined) return null;
    return known.use === use ? faultOfPause(known.at, now) : "it was used before";
  }

  #noteHeld({ type, action_id, data }: AuditEvent): void {
    if (action_id === null) return;
    if (type === "action.submitted" && data.status === "pending") this.#held.add(action_id);
    else if (DECIDED.has(type)) this.#held.delete(action_id);
  }

  #noteAccepted({ type, data }: AuditEvent): void {
    const { config, number } = acceptedIn(data);
    if (type !== "policy.changed" || number === undefined) return;
    this.#accepted.set(config, Math.max(number, this.#accepted.get(config) ?? 0));
  }
}

/** Each machine that shares a ledger counts the acceptances of its own configs. */
function acceptedIn(data: AuditEvent["data"]): { config: string; number?: number } {
  const { project_id, number } = (data.accepted ?? {}) as Record<string, unknown>;
  const config = JSON.stringify([data.machine ?? null, project_id ?? null]);
  return { config, ...typeof number === "number" && { number } };
}
