import type { AuditEvent, AuditVerification, Checkpoint } from "./schema.ts";
import { GENESIS, type Head } from "./chain.ts";

/** The first thing that does not fit, by the number of its event. */
export type Problem = NonNullable<AuditVerification["problem"]>;

/** Follows a chain event by event, and stops at the first one that does not fit. */
export class ChainCheck {
  problem: Problem | null = null;
  head: Head = GENESIS;
  /** The hashes that stand where somebody signed or remembered one. */
  readonly hashes = new Map<number, string>();
  readonly #marks: ReadonlySet<number>;
  readonly #project: string;

  constructor(project_id: string, marks: readonly Head[]) {
    this.#project = project_id;
    this.#marks = new Set(marks.map(({ seq }) => seq));
  }

  /**
   * The next event with the hash that its content has, or null where no event as it was written
   * stands; false when it does not fit.
   */
  add(event: AuditEvent | null, hash: string): boolean {
    const seq = this.head.seq + 1;
    const what = this.#whatIsWrong(event, hash);
    if (what !== null) this.problem = { seq, what };
    else this.head = { seq, hash };
    if (this.#marks.has(this.head.seq)) this.hashes.set(this.head.seq, this.head.hash);
    return what === null;
  }

  #whatIsWrong(event: AuditEvent | null, hash: string): string | null {
    const { seq: before } = this.head;
    const seq = before + 1;
    if (event === null) return `event ${seq} has been changed since it was written`;
    if (event.seq !== seq) return `event ${seq} is missing`;
    if (event.project_id !== this.#project) return `event ${seq} is of another project`;
    if (event.prev_hash !== this.head.hash) return `event ${seq} does not follow event ${before}`;
    return event.hash === hash ? null : `event ${seq} has been changed since it was written`;
  }
}

/** What is wrong with a chain that should end at `expected`. */
export function checkHead(head: Head, expected: Head): Problem | null {
  if (head.seq === expected.seq && head.hash === expected.hash) return null;
  return {
    seq: head.seq + 1,
    what: `the chain ends at event ${head.seq}, but event ${expected.seq} had been written`,
  };
}

export interface SignedBy {
  /** The key that has to have signed them. */
  public_key: string;
  /** Whether the key that a checkpoint names has signed it. */
  isSigned: (checkpoint: Checkpoint) => boolean | Promise<boolean>;
}

/** What is wrong with the first of the checkpoints that is not of that key and that chain. */
export async function checkCheckpoints(
  checkpoints: readonly Checkpoint[],
  chain: Pick<ChainCheck, "hashes">,
  { public_key, isSigned }: SignedBy,
): Promise<Problem | null> {
  for (const checkpoint of checkpoints) {
    const { seq } = checkpoint;
    const what = checkpoint.public_key !== public_key
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
