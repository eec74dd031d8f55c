import type { AuditEvent, AuditVerification, Checkpoint } from "./schema.ts";
import { GENESIS, type Head } from "./chain.ts";

/** The first fault of a chain, with the number of its event. */
export type Problem = NonNullable<AuditVerification["problem"]>;

/** Checks a chain event by event, up to the first fault. */
export class ChainCheck {
  problem: Problem | null = null;
  head: Head = GENESIS;
  /** The hashes of the events for which a signed or known head exists. */
  readonly hashes = new Map<number, string>();
  /** The keys of the machines that the events name: each may sign checkpoints. */
  readonly keys = new Set<string>();
  readonly #marks: ReadonlySet<number>;
  readonly #project: string;

  constructor(project_id: string, marks: readonly Head[]) {
    this.#project = project_id;
    this.#marks = new Set(marks.map(({ seq }) => seq));
  }

  /**
   * Adds the next event and the hash of its content; the event is null when it was changed. Returns
   * false when it does not continue the chain.
   */
  add(event: AuditEvent | null, hash: string): boolean {
    const seq = this.head.seq + 1;
    const what = this.#faultOf(event, hash);
    if (what !== null) this.problem = { seq, what };
    else this.#note(event!, { seq, hash });
    if (this.#marks.has(this.head.seq)) this.hashes.set(this.head.seq, this.head.hash);
    return what === null;
  }

  #note({ type, data }: AuditEvent, head: Head): void {
    this.head = head;
    const { public_key } = data as { public_key?: unknown };
    if (type === "machine.joined" && typeof public_key === "string") this.keys.add(public_key);
  }

  #faultOf(event: AuditEvent | null, hash: string): string | null {
    const { seq: before } = this.head;
    const seq = before + 1;
    if (event === null) return `event ${seq} has been changed since it was written`;
    if (event.seq !== seq) return `event ${seq} is missing`;
    if (event.project_id !== this.#project) return `event ${seq} is of another project`;
    if (event.prev_hash !== this.head.hash) return `event ${seq} does not follow event ${before}`;
    return event.hash === hash ? null : `event ${seq} has been changed since it was written`;
  }
}

/** Checks the proofs of the events of one chain, in order. */
export interface ProofsCheck {
  /** The fault of the event's proof; null if it is valid. */
  check(event: AuditEvent): null | Promise<string | null>;
}

/** The first fault among the proofs of these events. */
export async function checkProofs(
  events: readonly AuditEvent[],
  proofs: ProofsCheck,
): Promise<Problem | null> {
  for (const event of events) {
    const checked = proofs.check(event);
    const what = checked && await checked;
    if (what) return { seq: event.seq, what };
  }
  return null;
}

/** The fault of a chain that does not end at `expected`; null when it does. */
export function checkHead(head: Head, expected: Head): Problem | null {
  if (head.seq === expected.seq && head.hash === expected.hash) return null;
  return {
    seq: head.seq + 1,
    what: `the chain ends at event ${head.seq}, but event ${expected.seq} had been written`,
  };
}

export interface SignedBy {
  /** The key that must have signed them, unless a machine that shared the ledger did. */
  public_key: string;
  /** Whether the key that a checkpoint names has signed it. */
  isSigned: (checkpoint: Checkpoint) => boolean | Promise<boolean>;
}

/** The fault of the first checkpoint that has another key or another chain; null when there is none. */
export async function checkCheckpoints(
  checkpoints: readonly Checkpoint[],
  chain: Pick<ChainCheck, "hashes" | "keys">,
  { public_key, isSigned }: SignedBy,
): Promise<Problem | null> {
  for (const checkpoint of checkpoints) {
    const { seq } = checkpoint;
    const isKnown = checkpoint.public_key === public_key || chain.keys.has(checkpoint.public_key);
    const what = !isKnown
      ? `the checkpoint at event ${seq} was signed with another key`
      : !await isSigned(checkpoint)
      ? `the checkpoint at event ${seq} has a wrong signature`
      : seq > 0 && chain.hashes.get(seq) !== checkpoint.hash
      ? `event ${seq} is not the one that was signed`
      : null;
    if (what) return { seq, what };
  }
  return null;
}
