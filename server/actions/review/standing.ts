import { approversOf } from "../../approval_routes/approval_routes.ts";
import type { HeldRoute } from "../../approval_routes/schema.ts";
import { listOfAction } from "../../audit/store.ts";
import type { AuditEvent } from "../../evidence/schema.ts";
import type { EventCheck } from "../../proof/proofs.ts";
import { includes, type Person } from "../../team/team.ts";
import type { ActionServices } from "../context.ts";
import type { ActionRow } from "../store.ts";
import { routeOf } from "../submit/held_route.ts";
import type { Answered } from "./schema.ts";

/** How far the approvals of a routed action are. */
export interface Standing {
  route: HeldRoute;
  need: number;
  /** The people whose approval of this version counts, in the order of their votes. */
  approved: string[];
  answered: Answered[];
  /** The people who may approve now. */
  asked: string[];
  /** Everybody who may approve at some time. */
  eligible: string[];
  /** The person who submitted the action, if it was a person. */
  requester: string | null;
  /** The person who edited it last. */
  editor: string | null;
}

/** The facts that a standing follows from. */
interface Facts {
  route: HeldRoute;
  digest: string;
  people: readonly Person[];
  /** The events of the action, oldest first. */
  events: readonly AuditEvent[];
  /** Whether a vote counts; a vote without a person's proof does not where one is needed. */
  counts: (vote: AuditEvent) => boolean;
}

/** How far the approvals are; null for an action without a route. @throws RoutesUnknown */
export async function standingOf(
  services: ActionServices,
  row: ActionRow,
): Promise<Standing | null> {
  const route = await routeInForce(services, row);
  if (route === null) return null;
  const events = await listOfAction(services.ledger, row.id);
  const check = row.status === "pending" ? await services.proofs.eventCheck() : null;
  const valid = check && await proven(events, check);
  const people = await services.team.people();
  const counts = (vote: AuditEvent) => valid?.has(vote.seq) ?? true;
  return deriveStanding({ route, digest: row.digest, people, events, counts });
}

/** The standing by these facts. The same facts give the same standing. */
export function deriveStanding({ route, digest, people, events, counts }: Facts): Standing {
  const votes = events.filter(({ type }) => type === "vote.cast");
  const requester = personIn(events.find(({ type }) => type === "action.submitted"));
  const editor = personIn(events.findLast(({ type }) => type === "action.edited"));
  const isEscalated = events.some(({ type }) => type === "escalation.raised");
  const named = approversOf(route.approvers, people);
  const able = people.filter(({ role }) => includes(role, "reviewer")).map(({ id }) => id);
  const added = isEscalated ? route.escalate_to.filter((id) => able.includes(id)) : [];
  const eligible = [...new Set([...named, ...added])].filter((id) => id !== requester);
  const approved = [
    ...new Set(
      votes.filter((vote) =>
        vote.data.verdict === "approve" && vote.data.digest === digest && counts(vote)
      ).map(({ data }) => String(data.member_id)),
    ),
  ].filter((id) => eligible.includes(id));
  const waiting = eligible.filter((id) => !approved.includes(id));
  const inTurn = waiting.filter((id) => named.includes(id)).slice(0, 1);
  const asked = route.ordered
    ? [...new Set([...inTurn, ...waiting.filter((id) => added.includes(id))])]
    : waiting;
  const isOwnEdit = route.edit_needs_other && editor !== null &&
    approved.every((id) => id === editor);
  const need = isOwnEdit ? Math.max(route.quorum, approved.length + 1) : route.quorum;
  const answered = votes.map(({ at, data }) => ({
    member_id: String(data.member_id),
    verdict: data.verdict === "reject" ? "reject" as const : "approve" as const,
    at,
  }));
  return { route, need, approved, answered, asked, eligible, requester, editor };
}

/** Whether the action is approved when this person approves it too, perhaps with an edit. */
export function suffices(
  { route, approved, editor }: Standing,
  member_id: string,
  is_edit: boolean,
): boolean {
  // An edit makes another version, which nobody else has approved.
  const all = is_edit ? [member_id] : [...approved, member_id];
  const author = is_edit ? member_id : editor;
  const isOwnEdit = route.edit_needs_other && author !== null && all.every((id) => id === author);
  return all.length >= route.quorum && !isOwnEdit;
}

/** The route of an action: the one that it was held under, or one in force that asks more people. */
async function routeInForce(services: ActionServices, row: ActionRow): Promise<HeldRoute | null> {
  if (row.status !== "pending") return row.route;
  const now = await routeOf(services, row);
  if (row.route === null || now === null) return row.route ?? now;
  return now.quorum > row.route.quorum ? now : row.route;
}

/** The votes that a person signed, by their numbers. */
async function proven(events: readonly AuditEvent[], check: EventCheck): Promise<Set<number>> {
  const found = new Set<number>();
  for (const [at, event] of events.entries()) {
    if (event.type !== "vote.cast" || event.data.verdict !== "approve") continue;
    const before = events[at - 1];
    const edit = before?.type === "action.edited" ? before : null;
    if (await check(event, edit) === null) found.add(event.seq);
  }
  return found;
}

function personIn(event: AuditEvent | undefined): string | null {
  return event?.actor.kind === "reviewer" ? event.actor.id : null;
}
