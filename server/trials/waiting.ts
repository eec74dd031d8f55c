import { setTimeout as pause } from "node:timers/promises";
import { type ActionServices, timestamp } from "../actions/context.ts";
import { confirmationOf } from "../actions/review/confirmation.ts";
import { type ActionRow, findAction, listHeld } from "../actions/store.ts";
import { evaluateAgain } from "../actions/submit/evaluate.ts";
import { grantSubject } from "../actions/submit/grant_use.ts";
import { asksEachTime } from "../actions/tools.ts";
import { GateError } from "../errors.ts";
import { compiledOf, grantAllows } from "../grants/matching.ts";
import type { GrantWaiting } from "../grants/schema.ts";
import { findGrant, type GrantRow } from "../grants/store.ts";

/** The most held actions that are compared with a grant. */
const MOST_LOOKED_AT = 500;
const SLICE_MS = 10;

/**
 * The held actions that this grant would allow if they were submitted now, oldest first. Decides
 * nothing. @throws GateError `not_found`
 */
export async function listWaiting(services: ActionServices, id: string): Promise<GrantWaiting> {
  const { ledger, environment } = services;
  const grant = await findGrant(ledger, id, timestamp(environment));
  if (grant === null) {
    const shown = JSON.stringify(id.toWellFormed().slice(0, 100));
    throw new GateError("not_found", `Cannot find grant ${shown} in this project`, {
      fields: { unknown: "grant" },
    });
  }
  const found: GrantWaiting = { items: [], alone: 0, complete: true };
  if (grant.state !== "live") return found;
  const ids = await listHeld(ledger, grant.scope === "session" ? grant.session_id : undefined);
  const compiled = compiledOf(grant);
  let since = performance.now();
  for (const held of ids.slice(0, MOST_LOOKED_AT)) {
    if (performance.now() - since > SLICE_MS) {
      await pause(0);
      since = performance.now();
    }
    const row = await findAction(ledger, held);
    if (!row || !await isAllowedBy(services, grant, { row, compiled })) continue;
    if (needsOwnReview(services, row)) found.alone++;
    else found.items.push({ id: row.id, digest: row.digest });
  }
  return { ...found, complete: ids.length <= MOST_LOOKED_AT };
}

async function isAllowedBy(
  services: ActionServices,
  grant: GrantRow,
  { row, compiled }: { row: ActionRow; compiled: ReturnType<typeof compiledOf> },
): Promise<boolean> {
  // A route asks others or more people, and some tools ask each time.
  if (row.status !== "pending" || !row.plan || row.route || asksEachTime(row.tool)) return false;
  const evaluation = await evaluateAgain(services, row);
  if (evaluation.decision.effect !== "ask") return false;
  const subject = grantSubject(row, evaluation);
  return subject.question.refused === null && grantAllows(grant, subject, compiled);
}

/** Whether its card warns of something that a line of a list does not show. */
function needsOwnReview(services: ActionServices, row: ActionRow): boolean {
  const { risk, conflicts } = row;
  return risk.level === "critical" || conflicts.length > 0 ||
    confirmationOf(services, row) !== null;
}
