import { canonical } from "../../evidence/canonical.ts";
import type { ActionServices } from "../context.ts";
import type { ActionRow } from "../store.ts";
import type { IntentRow } from "./intents_store.ts";

type Claimed = Pick<ActionRow, "id" | "digest">;

/**
 * The id of a claim, with a seal of this machine. Another machine that writes the ledger can insert a
 * running action, but cannot make its seal.
 */
export function newClaim(
  services: ActionServices,
  row: Claimed,
  intents: readonly IntentRow[] = [],
): string {
  const id = services.environment.id();
  return `${id}.${sealOf(services, row, id, intents)}`;
}

/** Whether this machine made the claim of a running action, with these intents. */
export function isOwnClaim(
  services: ActionServices,
  row: Claimed & Pick<ActionRow, "claim_id">,
  intents: readonly IntentRow[],
): boolean {
  const [id = "", seal] = row.claim_id?.split(".") ?? [];
  return seal === sealOf(services, row, id, intents);
}

function sealOf(
  { project_id, signer }: ActionServices,
  { id: action_id, digest }: Claimed,
  claim: string,
  intents: readonly IntentRow[],
): string {
  const changes = intents.map((
    { id, path, before_sha256, after_sha256, data },
  ) => ({ id, path, before_sha256, after_sha256, data })).toSorted((a, b) => a.id < b.id ? -1 : 1);
  return signer.seal(canonical({ project_id, action_id, digest, claim, changes }));
}
