import type { Circumstances } from "../../risk/facts.ts";
import type { ActionServices } from "../context.ts";
import type { ActionEvaluation } from "./evaluate.ts";
import type { Planned } from "./plan_action.ts";

/** The circumstances of a planned action. */
export function circumstancesOf(
  { history }: Pick<ActionServices, "history">,
  session_id: string,
  { decision: { effect }, analysis, risk: settings }: ActionEvaluation,
  { plan }: Planned,
): Promise<Circumstances> {
  return history.meet(session_id, { plan, analysis, effect, settings });
}
