import type { Ledger } from "../db/ledger.ts";
import type { AuditEvent } from "../evidence/schema.ts";
import { MAX_HEADS } from "./heads.ts";
import { faultOfTime } from "./place_check.ts";
import type { ProofRecord } from "./schema.ts";
import { findPlace } from "./store.ts";

/**
 * Why a proof was not given just before its event in a ledger: it was kept and written later, or it
 * was used before. Null if it was. Reads only the events since the one that the proof names.
 */
export async function faultInLedger(
  ledger: Ledger | undefined,
  { seq }: Pick<AuditEvent, "seq">,
  { challenge }: ProofRecord,
): Promise<string | null> {
  if (ledger === undefined) return "its ledger is not open";
  const { head, nonce, verb, action_id } = challenge;
  const place = await findPlace(ledger, { hash: head, nonce }, { seq, most: MAX_HEADS });
  if (place === null) return "it names an event that is not in this ledger";
  // A rollback of a session consists of many events, and takes its time.
  if (verb === "rollback" && action_id === null) return null;
  return faultOfTime(challenge, Date.parse(place.latest)) ??
    (place.is_used ? "it was used before" : null);
}
