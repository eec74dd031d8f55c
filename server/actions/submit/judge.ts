import { askedAbout } from "../../policy/contain.ts";
import type { Circumstances } from "../../risk/facts.ts";
import type { ActionServices, ActionSession } from "../context.ts";
import { wantsOutside } from "../plan.ts";
import { runsChangeableCode } from "../own_code.ts";
import { withinBudget } from "./budget.ts";
import { circumstancesOf } from "./circumstances.ts";
import { type ActionEvaluation, isRemembered, requesterIn } from "./evaluate.ts";
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
  const asked = await heldOutside(services, found, planned);
  const evaluation = is_replay ? asked : await withinBudget(services, session.id, asked, planned);
  if (evaluation.decision.effect === "ask" && evaluation.decision.sandbox) {
    planned.plan.sandbox = evaluation.decision.sandbox;
  }
  const circumstances = await circumstancesOf(services, session.id, evaluation, planned);
  return { evaluation, planned, circumstances };
}

/**
 * The evaluation of a command that the agent wants outside the sandbox. A rule that allows it by name
 * does not know the code that it runs, and sandboxed commands can change that.
 */
async function heldOutside(
  { config }: ActionServices,
  evaluation: ActionEvaluation,
  { plan }: Planned,
): Promise<ActionEvaluation> {
  const { decision, analysis } = evaluation;
  const isOpen = decision.effect === "allow" && decision.rule !== null && !isRemembered(decision);
  if (!isOpen || wantsOutside(plan) === null) return evaluation;
  const { compiled, around } = await config.inForce();
  if (!around.sandbox || compiled.sandbox.mode === "off") return evaluation;
  const commands = analysis?.commands ?? [];
  if (!runsChangeableCode({ scripts: plan.scripts, commands })) return evaluation;
  return askedAbout(
    evaluation,
    "It runs code of the project, which sandboxed commands can change; a person must approve it " +
      "outside the sandbox",
  );
}
