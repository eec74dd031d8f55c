import { canonical, GENESIS, hashOf, type Head, toEvent } from "../db/chain.ts";
import type { Ledger, Row } from "../db/ledger.ts";
import type { AuditVerification, Checkpoint } from "./schema.ts";
import { isSigned } from "./signer.ts";
import { listCheckpoints, listRows } from "./store.ts";

const PAGE = 200;

export interface VerifyOptions {
  public_key: string;
  /** The newest head that was remembered outside the ledger. */
  remembered: Head | null;
}

/** Recomputes the whole chain from its content; yields between pages so that nobody waits. */
export async function verifyChain(
  ledger: Ledger,
  options: VerifyOptions,
): Promise<AuditVerification> {
  const { project_id } = ledger;
  const checkpoints = await listCheckpoints(ledger);
  // Taken last: everything that was signed or remembered until now lies before it.
  const expected = ledger.head;
  const marks = [...checkpoints, ...(options.remembered ? [options.remembered] : [])];
  const walk = await walkChain(ledger, marks, expected.seq);
  const problem = walk.problem ?? checkHead(walk.head, expected) ??
    checkCheckpoints(checkpoints, walk.hashes, options.public_key) ??
    checkRemembered(options.remembered, walk.hashes);
  return {
    ok: problem === null,
    project_id,
    events: walk.head.seq,
    checkpoints: checkpoints.length,
    head: walk.head.seq > 0 ? walk.head : null,
    problem,
  };
}

type Problem = AuditVerification["problem"];

interface Walk {
  head: Head;
  /** The hashes that stand where somebody signed or remembered one. */
  hashes: Map<number, string>;
  problem: Problem;
}

/** Follows the chain up to `last`: what is appended meanwhile belongs to the next check. */
async function walkChain(ledger: Ledger, marks: Head[], last: number): Promise<Walk> {
  const wanted = new Set(marks.map(({ seq }) => seq));
  const walk: Walk = { head: GENESIS, hashes: new Map(), problem: null };
  for (;;) {
    const rows = await listRows(ledger, walk.head.seq, PAGE);
    for (const row of rows) {
      if (Number(row.seq) > last) return walk;
      walk.problem = checkRow(row, walk.head);
      if (walk.problem) return walk;
      walk.head = { seq: Number(row.seq), hash: String(row.hash) };
      if (wanted.has(walk.head.seq)) walk.hashes.set(walk.head.seq, walk.head.hash);
    }
    if (rows.length < PAGE) return walk;
    await new Promise((resolve) => setTimeout(resolve));
  }
}

function checkRow(row: Row, before: Head): Problem {
  const seq = before.seq + 1;
  if (row.seq !== seq) return { seq, what: `event ${seq} is missing` };
  if (row.prev_hash !== before.hash) {
    return { seq, what: `event ${seq} does not follow event ${before.seq}` };
  }
  try {
    const event = toEvent(row);
    const isAsWritten = canonical(event.actor) === row.actor && canonical(event.data) === row.data;
    if (isAsWritten && hashOf(event) === row.hash) return null;
  } catch {
    // No JSON any more: changed, like any other difference.
  }
  return { seq, what: `event ${seq} has been changed since it was written` };
}

function checkHead(head: Head, expected: Head): Problem {
  if (head.seq === expected.seq && head.hash === expected.hash) return null;
  return {
    seq: head.seq + 1,
    what: `the chain ends at event ${head.seq}, but event ${expected.seq} had been written`,
  };
}

function checkCheckpoints(
  checkpoints: Checkpoint[],
  hashes: Map<number, string>,
  public_key: string,
): Problem {
  for (const checkpoint of checkpoints) {
    const { seq } = checkpoint;
    const what = checkpoint.public_key !== public_key
      ? `the checkpoint at event ${seq} was signed with another key`
      : !isSigned(checkpoint)
      ? `the checkpoint at event ${seq} has a wrong signature`
      : hashes.get(seq) !== checkpoint.hash
      ? `event ${seq} is not the one that was signed`
      : null;
    if (what) return { seq, what };
  }
  return null;
}

function checkRemembered(remembered: Head | null, hashes: Map<number, string>): Problem {
  if (!remembered || remembered.seq === 0) return null;
  const { seq, hash } = remembered;
  if (hashes.get(seq) === hash) return null;
  return { seq, what: `event ${seq} is not the one that the registry remembers` };
}
