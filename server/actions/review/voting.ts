import type { HeldRoute } from "../../approval_routes/schema.ts";
import type { Caller } from "../../auth/schema.ts";
import type { NewEvent } from "../../db/ledger.ts";
import { GateError } from "../../errors.ts";
import type { ActionContext } from "../context.ts";
import { timestamp } from "../context.ts";
import type { ActionRow } from "../store.ts";
import { actorOf, eventOf, type Transition, transition } from "../transition.ts";
import { type Standing, standingOf, suffices } from "./standing.ts";

/** The vote of a person: the event of it, and whether it decides. */
export interface Ballot {
  standing: Standing;
  member_id: string;
}

/**
 * The ballot of a person who is asked now; null for an action without a route, `voted` after their
 * vote for this version. @throws GateError `forbidden` for others, `conflict` before their turn
 */
export async function ballotOf(
  { services }: ActionContext,
  row: ActionRow,
  caller: Caller,
): Promise<Ballot | "voted" | null> {
  const standing = await standingOf(services, row);
  if (standing === null) return null;
  const member_id = caller.member_id ?? caller.id;
  const { route: { name }, approved, asked, eligible, requester } = standing;
  if (approved.includes(member_id)) return "voted";
  if (asked.includes(member_id)) return { standing, member_id };
  const who = asked.length > 0 ? asked.join(", ") : "nobody who is left in the team";
  if (requester === member_id) {
    throw refuse("forbidden", `you submitted it yourself; route "${name}" asks ${who}`);
  }
  if (eligible.includes(member_id)) {
    throw refuse("conflict", `route "${name}" asks its members in order; it is the turn of ${who}`);
  }
  throw refuse("forbidden", `route "${name}" does not ask you; it asks ${who}`);
}

/** The event of a vote. */
export function voteEvent(
  row: ActionRow,
  { standing, member_id }: Ballot,
  caller: Caller,
  data: { verdict: "approve" | "reject"; digest: string } & Record<string, unknown>,
): NewEvent {
  const { route: { id: route_id }, need } = standing;
  const event = { member_id, route_id, need, ...data };
  return eventOf(row, "vote.cast", actorOf(caller, row.agent), event);
}

/** Records a vote that does not decide. Returns null if the action changed meanwhile. */
export async function recordVote(
  { services }: ActionContext,
  row: ActionRow,
  vote: NewEvent,
  edit?: Pick<Transition, "to" | "earlier" | "before">,
): Promise<ActionRow | null> {
  const { type, actor, data } = vote;
  return await transition(services, row, {
    to: {},
    ...edit,
    from: {
      status: "pending",
      digest: row.digest,
      decision_id: row.decision_id,
      unexpired_at: timestamp(services.environment),
    },
    by: actor,
    type,
    why: data,
  });
}

/** The vote of a person who rejects a routed action. One rejection suffices. */
export function rejection(row: ActionRow, { id: route_id }: HeldRoute, caller: Caller): NewEvent {
  const member_id = caller.member_id ?? caller.id;
  const data = { member_id, route_id, verdict: "reject", digest: row.digest };
  return eventOf(row, "vote.cast", actorOf(caller, row.agent), data);
}

/** Whether the ballot decides. */
export function decides({ standing, member_id }: Ballot, is_edit: boolean): boolean {
  return suffices(standing, member_id, is_edit);
}

function refuse(code: "forbidden" | "conflict", why: string): GateError {
  return new GateError(code, `Cannot approve the action: ${why}`);
}
