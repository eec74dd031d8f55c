import type { Circumstances } from "../../risk/facts.ts";
import type { ActionServices, ActionSession } from "../context.ts";
import { withinBudget } from "./budget.ts";
import { circumstancesOf } from "./circumstances.ts";
import { type ActionEvaluation, requesterIn } from "./evaluate.ts";
import { evaluateForSandbox } from "./evaluate_for_sandbox.ts";
import type { Parsed } from "./input.ts";
import { planAction, type Planned, planNothing } from "./plan_action.ts";

/** An input with its plan and the decision of the policy. */
export interface Judged {
  evaluation: ActionEvaluation;
  planned: Planned;
  circumstances: Circumstances;
}

/** Evaluates and plans an input. A refused one is not planned, so no file is read for it. */
export async function judge(
  services: ActionServices,
  session: ActionSession,
  { input, content, raw, is_replay = false }: Parsed & {
    /** The input as the agent sent it. */
    raw: Record<string, unknown>;
    is_replay?: boolean;
  },
): Promise<Judged> {
  const found = await evaluateForSandbox(services, input, {
    raw,
    requester: requesterIn(session),
    block_reason: session.block_reason,
  });
  const { decision, analysis, proof, limits } = found;
  const planned = decision.effect === "deny"
    ? planNothing(input)
    : await planAction(services, session.root, { input, content, analysis, proof, limits });
  const evaluation = is_replay ? found : await withinBudget(services, session.id, found, planned);
  if (evaluation.decision.effect === "ask" && evaluation.decision.sandbox) {
    planned.plan.sandbox = evaluation.decision.sandbox;
  }
  const circumstances = await circumstancesOf(services, session.id, evaluation, planned);
  return { evaluation, planned, circumstances };
}
