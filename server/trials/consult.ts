import type { ActionServices } from "../actions/context.ts";
import { digestOf, type Plan } from "../actions/plan.ts";
import {
  type ActionEvaluation,
  evaluateAction,
  withoutSandbox,
} from "../actions/submit/evaluate.ts";
import { type Parsed, parseInput } from "../actions/submit/input.ts";
import { planAction, planNothing } from "../actions/submit/plan_action.ts";
import { programsOf } from "../actions/submit/programs.ts";
import { scriptsOf } from "../actions/submit/scripts.ts";
import { GateError } from "../errors.ts";
import { createQuestion } from "../policy/grant.ts";
import type { PolicyTestInput, PolicyTestResult } from "../policy/schema.ts";
import { toolOf } from "../policy/test_policy.ts";
import { accessOf } from "../actions/submit/grant_use.ts";
import { decisionBy, findGrantFor } from "../grants/matching.ts";

/** The result of a policy test, with grants taken into account. Uses no grant up. */
export async function consultGrants(
  services: ActionServices,
  question: PolicyTestInput,
  tested: PolicyTestResult,
): Promise<PolicyTestResult> {
  if (tested.effect !== "ask" && tested.sandbox === null) return tested;
  try {
    const grant = await findFor(services, question);
    if (!grant) return tested;
    return { ...tested, ...decisionBy(grant, grant.uses), sandbox_refused: null };
  } catch (error) {
    // No tool accepts this input, so no grant can allow it.
    if (error instanceof GateError && error.code === "invalid") return tested;
    throw error;
  }
}

async function findFor(services: ActionServices, question: PolicyTestInput) {
  const { roots } = services;
  const { tool, input } = toolOf(question);
  const parsed = parseInput(tool, input, roots[0]!, roots);
  const is_outside = question.sandbox === false;
  const evaluation = withoutSandbox(
    await evaluateAction(services, parsed.input, { raw: input, is_outside }),
  );
  if (evaluation.decision.effect !== "ask") return null;
  const plan = await planOf(services, parsed, question, evaluation);
  const { command, cwd } = parsed.input;
  return await findGrantFor(services, {
    access: accessOf(parsed.input),
    digest: plan && digestOf(plan),
    session_id: question.session_id ?? null,
    scripts: plan?.scripts ?? [],
    question: createQuestion({ evaluation, command, cwd, around: evaluation.around }),
  });
}

/** The plan; null if the question leaves the content open, or if the plan cannot be made. */
async function planOf(
  services: ActionServices,
  { input, content }: Parsed,
  question: PolicyTestInput,
  { analysis, proof, limits }: ActionEvaluation,
): Promise<Plan | null> {
  if (content !== null && question.content === undefined) return null;
  try {
    if (input.command !== null) {
      const programs = programsOf(input, proof, await services.neighbours.roots());
      const scripts = await scriptsOf(analysis, { command: input.command, cwd: input.cwd! });
      return { ...planNothing(input).plan, scripts, ...programs && { programs } };
    }
    const parts = { input, content, analysis, limits };
    return (await planAction(services, services.roots[0]!, parts)).plan;
  } catch (error) {
    if (error instanceof GateError) return null;
    throw error;
  }
}
