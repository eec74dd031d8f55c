import { listFiltered } from "../audit/store.ts";
import type { Ledger } from "../db/ledger.ts";
import type { AuditEvent } from "../evidence/schema.ts";
import type { EventCheck } from "../proof/proofs.ts";
import type { Block } from "./schema.ts";

const PAGE = 1_000;

/** The events that blocked a session, oldest first. @throws GateError `unavailable` when one is damaged */
export function listAdded(ledger: Ledger): Promise<AuditEvent[]> {
  return listOfType(ledger, "block.added");
}

/** The events that lifted a block, by its id. @throws GateError `unavailable` when one is damaged */
export async function listLifts(ledger: Ledger): Promise<Map<string, AuditEvent[]>> {
  const lifts = new Map<string, AuditEvent[]>();
  for (const event of await listOfType(ledger, "block.removed")) {
    const id = String(event.data.block_id);
    lifts.set(id, [...lifts.get(id) ?? [], event]);
  }
  return lifts;
}

/** The active block that an event of the log names. */
export function blockOf({ project_id, session_id, action_id, at, data }: AuditEvent): Block {
  return {
    id: String(data.block_id),
    project_id,
    session_id: session_id ?? "",
    action_id,
    reason: String(data.reason),
    agent: typeof data.agent === "string" ? data.agent : null,
    created_at: at,
    expires_at: typeof data.expires_at === "string" ? data.expires_at : null,
    lifted_at: null,
    lifted_by: null,
  };
}

/** Whether a person signed one of these lifts of the same block. */
export async function isLiftProven(
  check: EventCheck,
  lifts: readonly AuditEvent[],
): Promise<boolean> {
  for (const lift of lifts) {
    const { block_id, asked } = lift.data as { block_id: unknown; asked?: { block_id?: unknown } };
    if (asked?.block_id !== block_id || await check(lift, null) !== null) continue;
    const { challenge } = lift.data.proof as { challenge: { verb: string } };
    if (challenge.verb === "lift_block") return true;
  }
  return false;
}

async function listOfType(ledger: Ledger, type: AuditEvent["type"]): Promise<AuditEvent[]> {
  const all: AuditEvent[] = [];
  for (let seq = 0;;) {
    const page = { after: { at: "", seq }, last: Number.MAX_SAFE_INTEGER, limit: PAGE };
    const found = await listFiltered(ledger, { type }, page);
    all.push(...found);
    if (found.length < PAGE) return all;
    seq = found.at(-1)!.seq;
  }
}
