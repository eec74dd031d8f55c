import { listFiltered } from "../audit/store.ts";
import type { Ledger } from "../db/ledger.ts";
import type { Environment } from "../environment.ts";
import type { AuditEvent } from "../evidence/schema.ts";
import type { Proofs } from "../proof/proofs.ts";
import { findBlock, putBlockBack } from "./store.ts";

export interface LiftServices {
  ledger: Ledger;
  environment: Pick<Environment, "log">;
  proofs: Pick<Proofs, "judge">;
}

/** The blocks whose lift was proven. A proof stays valid. */
const proven = new WeakMap<Ledger, Set<string>>();

const MOST = 10_000;

/**
 * Puts blocks back that somebody lifted or deleted in the ledger without a person's proof: of one
 * session, or of all. Returns the reason of one that was put back; null if there is none.
 */
export async function restoreBlocks(
  services: LiftServices,
  session_id?: string,
): Promise<string | null> {
  const { ledger, environment, proofs } = services;
  const added = (await listOfType(ledger, "block.added"))
    .filter((event) => session_id === undefined || event.session_id === session_id)
    .filter(({ data }) => !proven.get(ledger)?.has(String(data.block_id)));
  if (added.length === 0) return null;
  const judge = await proofs.judge();
  if (judge === null) return null;
  let found: string | null = null;
  for (const event of added) {
    const id = String(event.data.block_id);
    // Read before the log, so that the event of a lift that comes meanwhile is seen.
    const block = await findBlock(ledger, id);
    if (block?.lifted_at === null) continue;
    const lifts = (await listOfType(ledger, "block.removed")).filter(({ data }) =>
      data.block_id === id && (data.asked as { block_id?: unknown } | undefined)?.block_id === id
    );
    const faults = await Promise.all(lifts.map((lift) => faultOfLift(judge, lift)));
    if (faults.includes(null)) {
      proven.set(ledger, (proven.get(ledger) ?? new Set()).add(id));
      continue;
    }
    const { project_id } = ledger;
    environment.log("error", "a block was lifted without a person's proof", { project_id, id });
    found = String(event.data.reason);
    await ledger.commit({
      statements: [putBlockBack({
        ...{ id, project_id, session_id: event.session_id!, action_id: event.action_id },
        ...{ reason: found, created_at: event.at, lifted_at: null, lifted_by: null },
      })],
      events: [],
    });
  }
  return found;
}

async function faultOfLift(
  judge: NonNullable<Awaited<ReturnType<Proofs["judge"]>>>,
  lift: AuditEvent,
): Promise<string | null> {
  const fault = await judge(lift, null);
  if (fault !== null) return fault;
  const { challenge } = lift.data.proof as { challenge: { verb: string } };
  return challenge.verb === "lift_block" ? null : "it is for another deed";
}

async function listOfType(ledger: Ledger, type: AuditEvent["type"]): Promise<AuditEvent[]> {
  const page = { after: { at: "", seq: 0 }, last: Number.MAX_SAFE_INTEGER, limit: MOST };
  return await listFiltered(ledger, { type }, page);
}
