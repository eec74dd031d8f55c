import { resolve } from "node:path";
import type { PolicyTestInput, PolicyTestResult, Requester } from "../../policy/schema.ts";
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
  const { session_id, home_project } = options.requester;
  const why = await whyNoWalls(services, { ...input, session_id, home_project }, evaluation);
  if (why === null) return evaluation;
  const outside = await evaluateAction(services, input, { ...options, is_outside: true });
  const { decision } = outside;
  const reason = reasonWithout(decision.reason, why);
  return { ...outside, decision: { ...decision, reason }, sandbox_refused: why };
}

/** The folders of a sandbox that is only tried for a question. */
const TRIED = "tried";

/** As `evaluateForSandbox`, for a question that records nothing. */
export async function testForSandbox(
  services: ActionServices,
  input: PolicyTestInput,
  session: { id: string; home_project: string | null } | null,
): Promise<PolicyTestResult> {
  const { config, roots } = services;
  const home_project = session?.home_project ?? undefined;
  const tested = await config.test(input, home_project);
  const command = input.command ?? input.path ?? null;
  const cwd = resolve(roots[0] ?? "/", input.cwd ?? ".");
  const asked = { command, cwd, session_id: session?.id ?? TRIED, home_project };
  const why = await whyNoWalls(services, asked, { decision: tested });
  if (why === null) return tested;
  const outside = await config.test({ ...input, sandbox: false }, home_project);
  return { ...outside, reason: reasonWithout(outside.reason, why), sandbox_refused: why };
}

function reasonWithout(reason: string, why: string): string {
  return `${reason} (the sandbox does not answer it: ${why})`;
}

/** A command that would run in the sandbox. */
interface Asked {
  command: string | null;
  cwd: string | null;
  session_id: string;
  home_project?: string | null | undefined;
}

async function whyNoWalls(
  { config, sandboxes, neighbours, openings }: ActionServices,
  { command, cwd, session_id, home_project }: Asked,
  { decision: { effect, sandbox } }: { decision: Pick<PolicyTestResult, "effect" | "sandbox"> },
): Promise<string | null> {
  if (command === null || cwd === null || effect === "deny" || !sandbox) return null;
  const { compiled, around } = await config.inForce(home_project ?? undefined);
  return await sandboxes.whyNot({
    ...{ session_id, command, cwd, sandbox, compiled, around },
    opened: await openings.ofSession(session_id),
    projects: await neighbours.roots(),
  });
}
