import { chooseRoute, consider } from "../../approval_routes/choose.ts";
import type { HeldRoute } from "../../approval_routes/schema.ts";
import type { ActionServices } from "../context.ts";
import type { NewRow } from "../store.ts";
import { evaluateAction, requesterIn } from "./evaluate.ts";

type Routed = Pick<NewRow, "agent" | "session_id" | "plan" | "risk">;

/**
 * The approval route that an action takes by the routes in force; null if one person approves it.
 * @throws RoutesUnknown if nobody can tell which routes are in force
 */
export async function routeOf(services: ActionServices, row: Routed): Promise<HeldRoute | null> {
  const inForce = await services.routes.inForce();
  if (inForce === null || row.plan === null) return null;
  const { around } = await services.config.inForce();
  const session = await services.sessions.get(row.session_id);
  // The policy's own evaluation, under the patterns of the routes in place of its rules.
  const config = { inForce: () => Promise.resolve({ compiled: inForce.policy, around }) };
  const requester = { ...requesterIn(session), home_project: null };
  const { matched } = await evaluateAction({ config }, row.plan, { requester });
  const { agent, risk: { level: risk } } = row;
  const facts = { agent, host: session.host, project_id: services.project_id, risk };
  const chosen = chooseRoute(consider(inForce.routes, matched, facts));
  if (!chosen) return null;
  const { match: _, ...route } = chosen.route;
  return route;
}
