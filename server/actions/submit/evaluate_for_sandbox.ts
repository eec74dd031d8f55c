import type { Requester } from "../../policy/schema.ts";
import type { ActionServices } from "../context.ts";
import type { ParsedInput } from "../plan.ts";
import { type ActionEvaluation, evaluateAction } from "./evaluate.ts";

interface Options {
  raw: Record<string, unknown>;
  requester: Requester & { session_id: string };
  block_reason: string | null;
}

/**
 * Evaluates a new action. If it may run only in a sandbox that cannot be built at present, it is judged
 * as on a machine without one, and its reason says why.
 */
export async function evaluateForSandbox(
  services: ActionServices,
  input: ParsedInput,
  options: Options,
): Promise<ActionEvaluation> {
  const evaluation = await evaluateAction(services, input, options);
  const why = await whyNoWalls(services, input, options, evaluation);
  if (why === null) return evaluation;
  const outside = await evaluateAction(services, input, { ...options, is_outside: true });
  const { decision } = outside;
  const reason = `${decision.reason} (the sandbox does not answer it: ${why})`;
  return { ...outside, decision: { ...decision, reason }, sandbox_refused: why };
}

async function whyNoWalls(
  { config, sandboxes, neighbours, openings }: ActionServices,
  { command, cwd }: ParsedInput,
  { requester }: Options,
  { decision: { effect, sandbox } }: ActionEvaluation,
): Promise<string | null> {
  if (command === null || cwd === null || effect === "deny" || !sandbox) return null;
  const { compiled, around } = await config.inForce(requester.home_project ?? undefined);
  return await sandboxes.whyNot({
    ...{ session_id: requester.session_id, command, cwd, sandbox, compiled, around },
    opened: await openings.ofSession(requester.session_id),
    projects: await neighbours.roots(),
  });
}
