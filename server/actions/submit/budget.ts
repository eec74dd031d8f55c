import { builtin } from "../../policy/finding.ts";
import { isHarmless } from "../../risk/commands.ts";
import type { ActionServices } from "../context.ts";
import { CHANGES_NOTHING } from "../effects/forecast.ts";
import { BUDGET } from "./budgets.ts";
import type { ActionEvaluation } from "./evaluate.ts";
import type { Planned } from "./plan_action.ts";

/** The evaluation of an allowed action, which a person decides if the budget is spent. */
export async function withinBudget(
  { budgets }: Pick<ActionServices, "budgets">,
  session_id: string,
  evaluation: ActionEvaluation,
  planned: Planned,
): Promise<ActionEvaluation> {
  const { decision, analysis, limits } = evaluation;
  const { plan, reversibility } = planned;
  if (decision.effect !== "allow") return evaluation;
  if (plan.changes.length === 0) {
    const isQuiet = plan.command === null || reversibility?.why === CHANGES_NOTHING ||
      (analysis !== null && isHarmless(analysis));
    if (isQuiet) return evaluation;
  }
  const exceeded = await budgets.exceeded(session_id, plan.changes, limits);
  if (exceeded === null) return evaluation;
  const finding = { ...builtin("ask", BUDGET, exceeded.limit, exceeded.reason), alternative: NEXT };
  const { effect, rule, reason, alternative } = finding;
  return {
    ...evaluation,
    decision: { ...decision, effect, rule, reason, alternative },
    asks: [...evaluation.asks, finding],
  };
}

const NEXT =
  "Tell the person what was changed so far; an approval of this action renews the budget";
