import type { Caller } from "../../auth/schema.ts";
import { GateError } from "../../errors.ts";
import { strictestOf } from "../../policy/evaluate.ts";
import { questionsOf } from "../../policy/grant.ts";
import type { ActionContext, ActionServices, ActionSession } from "../context.ts";
import { inTurns } from "../scheduling.ts";
import { digestOf, type LeasedStep, type ParsedInput, type Plan } from "../plan.ts";
import { noteLease } from "../review/lease.ts";
import { type ActionEvaluation, evaluateAction, requesterIn } from "./evaluate.ts";
import { parseInput } from "./input.ts";
import { judge, type Judged } from "./judge.ts";
import { riskOf } from "./new_row.ts";
import { type Planned, planNothing } from "./plan_action.ts";
import { recordSubmission, type Submission } from "./record.ts";
import { LEASE_SECONDS, type SubmitPlanInput } from "./schema.ts";

/** A plan that an agent submits. */
interface PlanSubmission {
  input: SubmitPlanInput;
  session: ActionSession;
  caller: Caller;
  search_path: string | undefined;
}

/**
 * Submits a list of actions for one decision. Each step is judged and planned like an action of its
 * own; the strictest decision holds for the whole. @throws GateError `invalid`, naming the step
 */
export async function submitPlan(
  context: ActionContext,
  { input: { title, steps, lease_seconds = LEASE_SECONDS }, session, caller, search_path }:
    PlanSubmission,
): Promise<Submission> {
  const { services } = context;
  const judged: Judged[] = [];
  for await (const [at, step] of inTurns(steps.entries())) {
    judged.push(
      await judgeStep(services, session, { ...step, search_path }).catch((error) => {
        throw error instanceof GateError ? faultOfStep(at, error) : error;
      }),
    );
  }
  const evaluation = await evaluateWhole(services, session, { title, judged });
  const isDenied = evaluation.decision.effect === "deny";
  if (!isDenied) requireIndependent(judged.map(({ planned }) => planned.plan));
  const input = inputOf(title);
  const planned = isDenied ? planNothing(input) : {
    ...planNothing(input),
    plan: {
      ...planNothing(input).plan,
      lease: { title, seconds: lease_seconds, steps: judged.map((one) => toStep(session, one)) },
    },
    contents: judged.flatMap((one) => one.planned.contents),
  } satisfies Planned;
  noteLease(services.ledger, session.id);
  const { decision } = evaluation;
  const parts = { session, decision, analysis: null, planned, evaluation };
  return await recordSubmission(context, evaluation, caller, parts);
}

async function judgeStep(
  services: ActionServices,
  session: ActionSession,
  { tool, input: raw, search_path }: SubmitPlanInput["steps"][number] & {
    search_path: string | undefined;
  },
): Promise<Judged> {
  const parsed = parseInput(tool, raw, session.root, services.roots);
  if (tool === "run_command" && search_path !== undefined) parsed.input.search_path = search_path;
  return await judge(services, session, { ...parsed, raw });
}

/** The strictest decision. It counts what only the whole input of a step shows, such as a text. */
async function evaluateWhole(
  services: ActionServices,
  session: ActionSession,
  { title, judged }: { title: string; judged: readonly Judged[] },
): Promise<ActionEvaluation> {
  const steps = judged.map(({ planned: { plan } }) => ({ plan }));
  const whole = await evaluateAction(services, { ...inputOf(title), lease: { steps } }, {
    requester: requesterIn(session),
    block_reason: session.block_reason,
  });
  const each = judged.map(({ evaluation }, at) => {
    const reason = `Step ${at + 1} of ${judged.length}: ${evaluation.decision.reason}`;
    return { ...evaluation, decision: { ...evaluation.decision, reason, sandbox: null } };
  });
  const { limits, risk, around } = whole;
  return {
    ...strictestOf([whole, ...each]),
    ...{ analysis: null, units: [], proof: null, outside: null, limits, risk, around },
  };
}

function toStep(
  session: ActionSession,
  { evaluation, planned, circumstances }: Judged,
): LeasedStep {
  const { decision, analysis, asks } = evaluation;
  return {
    plan: planned.plan,
    digest: digestOf(planned.plan),
    questions: decision.effect === "ask" ? questionsOf(asks) : [],
    decision,
    analysis,
    risk: riskOf({ planned, decision, analysis, session, evaluation, circumstances }),
  };
}

/**
 * A step is planned on the files as they are now, so it cannot depend on what an earlier step writes.
 * @throws GateError `invalid`
 */
function requireIndependent(plans: readonly Plan[]): void {
  const written = new Map<string, number>();
  for (const [at, { changes, scripts, accesses }] of plans.entries()) {
    const paths = [...changes, ...scripts].map(({ path }) => path);
    const read = accesses.map(({ target }) => target.real);
    const [path] = [...paths, ...read].filter((one) => written.has(one));
    if (path !== undefined) {
      const earlier = written.get(path)! + 1;
      const why = `step ${at + 1} needs "${path}" as step ${earlier} leaves it; ` +
        `make one step of them, or submit step ${at + 1} after the plan`;
      throw new GateError("invalid", `Cannot submit the plan: ${why}`);
    }
    for (const one of changes) written.set(one.path, at);
  }
}

function faultOfStep(at: number, { code, message }: GateError): GateError {
  return new GateError(code, `Cannot submit the plan: step ${at + 1}: ${message}`);
}

function inputOf(title: string): ParsedInput {
  const none = { path: null, command: null, cwd: null, input_sha256: null, accesses: [] };
  return { ...none, tool: "submit_plan", input: { title } };
}
