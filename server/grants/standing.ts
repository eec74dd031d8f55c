import { listOfAction } from "../audit/store.ts";
import type { Ledger } from "../db/ledger.ts";
import type { AuditEvent } from "../evidence/schema.ts";
import { faultOfGrant } from "../proof/deed_check.ts";
import type { EventCheck, Proofs } from "../proof/proofs.ts";
import { NATIVE } from "../proof/signature.ts";
import { countUses, findGrant, type GrantRow } from "./store.ts";

interface StandingServices {
  ledger: Ledger;
  proofs: Pick<Proofs, "eventCheck">;
}

/** A grant whose proof was checked, by its content. The proof of the same content stays valid. */
interface Checked {
  content: string;
  uses: number;
}

const checked = new WeakMap<Ledger, Map<string, Checked>>();
const MAX_CHECKED = 1_000;

/**
 * Whether the log has a person's proof of exactly this grant, no revocation of it and no more uses
 * than its row says. A row alone is no grant, because every program of the same user can write it.
 */
export async function grantStands(services: StandingServices, grant: GrantRow): Promise<boolean> {
  const { ledger, proofs } = services;
  const check = await proofs.eventCheck();
  if (check === null) return true;
  try {
    const events = await listOfAction(ledger, grant.action_id);
    if (events.some((event) => event.type === "grant.revoked" && isOf(event, grant))) return false;
    const known = checked.get(ledger)?.get(grant.id);
    const content = contentOf(grant);
    if (known?.content !== content && !await isProven(check, events, grant)) return false;
    if (known?.content !== content || grant.uses < known.uses) {
      const used = await countUses(ledger, grant.id);
      const now = await findGrant(ledger, grant.id, grant.created_at);
      if (!now || now.uses < used) return false;
    }
    note(ledger, grant.id, {
      content,
      uses: Math.max(grant.uses, known?.content === content ? known.uses : 0),
    });
    return true;
  } catch {
    // An event that cannot be read proves nothing.
    return false;
  }
}

/** Remembers that a use of a grant was committed, so that nobody takes it back in the row alone. */
export function noteUse(ledger: Ledger, id: string, uses: number): void {
  const known = checked.get(ledger)?.get(id);
  if (known) known.uses = Math.max(known.uses, uses);
}

async function isProven(
  check: EventCheck,
  events: readonly AuditEvent[],
  grant: GrantRow,
): Promise<boolean> {
  const at = events.findIndex((event) => event.type === "grant.added" && isOf(event, grant));
  const added = events[at];
  const before = events.slice(0, Math.max(0, at));
  const approved = before.findLast(({ type }) => type === "action.approved");
  const edit = before.findLast(({ type }) => type === "action.edited") ?? null;
  if (!added || !approved) return false;
  if (await check(approved, edit) !== null) return false;
  const { scope, max_uses, pattern, session_id, digest, questions, scripts, access } = grant;
  // The hidden part of a masked text could not be compared.
  if (pattern?.includes("[redacted]")) return false;
  const ttl_seconds = Number(added.data.ttl_seconds);
  const data = { ...added.data, scope, max_uses, pattern };
  if (await faultOfGrant({ ...added, data }, approved, NATIVE) !== null) return false;
  const { proof } = approved.data as { proof: { challenge: { expires_at: string } } };
  // The signed time bounds the deadline, whatever the row says of its making.
  const latest = Date.parse(proof.challenge.expires_at) + ttl_seconds * 1000;
  const recorded = {
    session_id: added.session_id,
    ...pick(added.data),
    digest: approved.data.digest,
  };
  const own = { session_id, questions, scripts, access, digest };
  return Date.parse(grant.expires_at) <= latest && JSON.stringify(recorded) === JSON.stringify(own);
}

function pick({ questions, scripts, access }: AuditEvent["data"]) {
  return { questions, scripts, access };
}

function isOf({ data }: AuditEvent, { id }: GrantRow): boolean {
  return data.grant_id === id;
}

/** Everything but its use. */
function contentOf({ uses: _, last_used_at: _at, state: _state, ...rest }: GrantRow): string {
  return JSON.stringify(rest);
}

function note(ledger: Ledger, id: string, found: Checked): void {
  const all = checked.get(ledger) ?? new Map<string, Checked>();
  checked.set(ledger, all);
  if (all.size >= MAX_CHECKED) all.clear();
  all.set(id, found);
}
