import { RoutesUnknown } from "../../approval_routes/approval_routes.ts";
import type { ActionServices } from "../context.ts";
import type { ActionDetail, ActionStatusView } from "../schema.ts";
import { type ActionRow, publicOf } from "../store.ts";
import { listRouted } from "./notices_store.ts";
import type { RoutedApproval } from "./schema.ts";
import { standingOf } from "./standing.ts";

/** How many approvals an action needs and has. Without a route it needs one person's. */
export async function countApprovals(
  services: ActionServices,
  row: ActionRow,
): Promise<ActionStatusView["approvals"]> {
  const standing = await knownStanding(services, row);
  const byPerson = row.status === "approved" && row.decided_by !== "policy";
  if (!standing) return { need: 1, have: byPerson ? 1 : 0 };
  return { need: standing.need, have: standing.approved.length };
}

/** The approvals of an action with a route, with the names of the people; null without a route. */
export async function describeApprovals(
  services: ActionServices,
  row: ActionRow,
): Promise<ActionDetail["approvals"]> {
  const standing = await knownStanding(services, row);
  if (!standing) return null;
  const { route: { id, name, ordered }, need, approved, asked, answered } = standing;
  const people = await services.team.people();
  const nameOf = (member_id: string) => people.find((one) => one.id === member_id)?.name;
  const named = (member_id: string) => ({ id: member_id, name: nameOf(member_id) ?? member_id });
  return {
    route: { id, name },
    ordered,
    need,
    have: approved.length,
    asked: row.status === "pending" ? asked.map(named) : [],
    answered: answered.map((one) => ({ ...one, name: named(one.member_id).name })),
    deadline: row.expires_at,
  };
}

/** The held actions with a route, oldest first. */
export async function listApprovals(services: ActionServices): Promise<RoutedApproval[]> {
  const found: RoutedApproval[] = [];
  for (const row of await listRouted(services.ledger)) {
    const standing = await knownStanding(services, row);
    if (!standing) continue;
    const { route: { id: route_id }, need, approved, asked, answered } = standing;
    const deadline = row.expires_at;
    const have = approved.length;
    found.push({ action: publicOf(row), route_id, need, have, asked, answered, deadline });
  }
  return found;
}

/** A view does not fail where nobody can tell the routes in force: a decision does. */
async function knownStanding(services: ActionServices, row: ActionRow) {
  if (row.status !== "pending" && row.route === null) return null;
  try {
    return await standingOf(services, row);
  } catch (error) {
    if (!(error instanceof RoutesUnknown)) throw error;
    return null;
  }
}
