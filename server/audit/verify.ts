import { setImmediate } from "node:timers/promises";
import { hashOf, toEvent } from "../db/chain.ts";
import { isDamage } from "../db/database.ts";
import type { Ledger, Row } from "../db/ledger.ts";
import { canonical } from "../evidence/canonical.ts";
import { type Head } from "../evidence/chain.ts";
import {
  ChainCheck,
  checkCheckpoints,
  checkHead,
  checkProofs,
  type Problem,
} from "../evidence/check.ts";
import { isSigned } from "../evidence/signature.ts";
import type { AuditEvent, AuditVerification, Checkpoint } from "../evidence/schema.ts";
import { LedgerProofs } from "../proof/ledger_check.ts";
import { NATIVE } from "../proof/signature.ts";
import { checkActions, checkSubmitted } from "./actions_check.ts";
import { checkProjections } from "./projections_check.ts";
import { decodeStored, listCheckpoints, listStored } from "./store.ts";

/** So few that a page holds the event loop for a few milliseconds. */
const PAGE = 40;

export interface VerifyOptions {
  public_key: string;
  /** The newest head in the registry. */
  remembered: Head | null;
  /** Receives the number of events checked so far. */
  hear?: (events: number) => void;
}

/**
 * Recomputes the whole chain from its content, compares the actions with it and the projections with
 * both, and yields to the event loop between pages.
 */
export async function verifyChain(
  ledger: Ledger,
  options: VerifyOptions,
): Promise<AuditVerification> {
  const { project_id } = ledger;
  const { chain, checkpoints, problem: chain_problem } = await verifyEvents(ledger, options);
  // Only a whole chain says what the actions must be.
  const problem = chain_problem ?? await checkActions(ledger) ?? await checkProjections(ledger);
  return {
    ok: problem === null,
    project_id,
    events: chain.head.seq,
    checkpoints: checkpoints.length,
    head: chain.head.seq > 0 ? chain.head : null,
    problem,
  };
}

/** Recomputes the chain and checks its proofs and signed heads. */
export async function verifyEvents(
  ledger: Ledger,
  { public_key, remembered, hear }: VerifyOptions,
): Promise<{ chain: ChainCheck; checkpoints: Checkpoint[]; problem: Problem | null }> {
  const { project_id } = ledger;
  const checkpoints = await listCheckpoints(ledger);
  // Another machine may have signed an event of which this one has not heard.
  await ledger.sync();
  // Read last, so that every signed head and the registry's head come before it.
  const expected = ledger.head;
  const chain = new ChainCheck(project_id, [...checkpoints, ...remembered ? [remembered] : []]);
  const later_problem = await walkChain(ledger, chain, expected.seq, hear);
  const problem = chain.problem ?? checkHead(chain.head, expected) ??
    await checkCheckpoints(checkpoints, chain, { public_key, isSigned }) ??
    checkRemembered(remembered, chain) ?? later_problem;
  return { chain, checkpoints, problem };
}

/**
 * Checks the chain up to `last`; later events belong to the next check. Returns the first fault of a
 * proof, or an action that has no row.
 */
async function walkChain(
  ledger: Ledger,
  chain: ChainCheck,
  last: number,
  hear: VerifyOptions["hear"],
): Promise<Problem | null> {
  const proofs = new LedgerProofs(NATIVE);
  let problem: Problem | null = null;
  for (let after = 0;;) {
    const rows = await readRows(ledger, after);
    if (rows === null) {
      chain.add(null, "");
      return problem;
    }
    const events: AuditEvent[] = [];
    for (const row of rows) {
      if (chain.head.seq === last) break;
      const event = eventOf(ledger, row);
      if (!chain.add(event, event === null ? "" : hashOf(event))) return problem;
      problem ??= await checkProofs([event!], proofs);
      events.push(event!);
    }
    problem ??= await checkSubmitted(ledger, events);
    hear?.(chain.head.seq);
    if (rows.length < PAGE || chain.head.seq === last) return problem;
    after = Number(rows.at(-1)!.place);
    await setImmediate();
  }
}

/** Null when the database file is damaged. */
async function readRows(ledger: Ledger, after: number): Promise<Row[] | null> {
  try {
    return await listStored(ledger, after, PAGE);
  } catch (error) {
    if (isDamage(error)) return null;
    throw error;
  }
}

/** The event of a row; null when any byte of it was changed. */
function eventOf(ledger: Ledger, stored: Row): AuditEvent | null {
  try {
    const row = decodeStored(ledger, stored);
    const event = toEvent(row);
    const isAsWritten = canonical(event.actor) === row.actor && canonical(event.data) === row.data;
    return isAsWritten ? event : null;
  } catch {
    // Invalid UTF-8 or JSON is a change like any other.
    return null;
  }
}

function checkRemembered(remembered: Head | null, { hashes }: ChainCheck): Problem | null {
  if (!remembered || remembered.seq === 0) return null;
  const { seq, hash } = remembered;
  if (hashes.get(seq) === hash) return null;
  return { seq, what: `event ${seq} differs from the one in the registry` };
}
