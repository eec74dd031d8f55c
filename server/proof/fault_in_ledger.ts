import type { Ledger } from "../db/ledger.ts";
import type { AuditEvent } from "../evidence/schema.ts";
import { MAX_HEADS } from "./heads.ts";
import { CHALLENGE_MS, faultOfTime } from "./place_check.ts";
import type { ProofRecord } from "./schema.ts";
import { findChange, findPlace } from "./store.ts";

/**
 * Why a proof was not given just before its event in a ledger: it was kept and written later, or it
 * was used before, or its key was replaced by the change number `ended` before. Null if it was. Reads only the events since the one that the proof names.
 */
export async function faultInLedger(
  ledger: Ledger | undefined,
  { seq, at }: Pick<AuditEvent, "seq" | "at">,
  { challenge }: ProofRecord,
  ended: number | null,
): Promise<string | null> {
  if (ledger === undefined) return "its ledger is not open";
  const end = ended === null ? null : await findChange(ledger, ended);
  if (end && seq > end.seq && Date.parse(at) > Date.parse(end.at) + CHALLENGE_MS) {
    return "its key had been replaced or removed";
  }
  const { head, nonce, verb, action_id } = challenge;
  const place = await findPlace(ledger, { hash: head, nonce }, { seq, most: MAX_HEADS });
  if (place === null) return "it names an event that is not in this ledger";
  // A rollback of a session consists of many events, and takes its time.
  if (verb === "rollback" && action_id === null) return null;
  const is_shared = ledger.machine !== null;
  return faultOfTime(challenge, Date.parse(place.latest), { is_shared }) ??
    (place.is_used ? "it was used before" : null);
}
