import type { Caller } from "../../auth/schema.ts";
import { requireNotViewer, requireReviewer } from "../../auth/scopes.ts";
import { readBlob } from "../../db/blobs.ts";
import { parse } from "../../parse.ts";
import {
  type ActionContext,
  type ActionSession,
  loadAction,
  notPossible,
  requireDigest,
} from "../context.ts";
import type { ReplayInput, SubmitInput } from "../schema.ts";
import type { ActionRow } from "../store.ts";
import { toolOf } from "../tools.ts";
import { actorOf, eventOf } from "../transition.ts";
import { submitRollback } from "../rollback/rollback.ts";
import { withinBudget } from "./budget.ts";
import { circumstancesOf } from "./circumstances.ts";
import { evaluateAction, requesterIn } from "./evaluate.ts";
import { type Parsed, parseInput } from "./input.ts";
import { planAction, planNothing } from "./plan_action.ts";
import { recordSubmission, type Submission } from "./record.ts";
import { RollbackToolInput } from "./schema.ts";

/** Validates, plans, evaluates and records a tool call; executes it if policy allows it. */
export async function submit(
  context: ActionContext,
  { tool, input: raw, session_id, search_path }: SubmitInput,
  caller: Caller,
): Promise<Submission> {
  requireNotViewer(caller, "submit an action");
  const { services } = context;
  const session = await services.sessions.resolve(session_id, caller);
  if (toolOf(tool).undoes) {
    return await submitRollback(context, parse(RollbackToolInput, raw), session, caller);
  }
  const parsed = parseInput(tool, raw, session.root, services.roots);
  if (search_path !== undefined) parsed.input.search_path = search_path;
  return await submitParsed(context, { ...parsed, session, raw, caller });
}

/** Submits a rolled-back write again, as a new action that policy evaluates. */
export async function replay(
  context: ActionContext,
  id: string,
  { expected_digest }: ReplayInput,
  caller: Caller,
): Promise<Submission> {
  requireReviewer(caller, "replay the action", null);
  const { services } = context;
  const original = await loadAction(services, id);
  if (original.status !== "rolled_back") {
    throw notPossible(original, "replay", "it is not rolled back");
  }
  requireDigest(original, "replay", expected_digest);
  const session = await services.sessions.get(original.session_id);
  const parsed = await replayedInput(context, original);
  const { proofs, project_id, ledger } = services;
  const { digest } = original;
  const deed = { verb: "replay" as const, project_id, action_id: id, head: ledger.head.hash };
  const proof = await proofs.require(caller, { ...deed, digest });
  const submission = await submitParsed(context, {
    ...parsed,
    session,
    raw: parsed.input.input,
    caller,
    replay_of: id,
  });
  await services.ledger.commit({
    statements: [],
    events: [eventOf(original, "action.replayed", actorOf(caller, original.agent), {
      action: submission.row.id,
      ...proof && { digest, proof },
    })],
  });
  return submission;
}

/** A parsed input with its session. */
interface ParsedSubmission extends Parsed {
  session: ActionSession;
  /** The input as the agent sent it. */
  raw: Record<string, unknown>;
  caller: Caller;
  replay_of?: string;
}

async function submitParsed(
  context: ActionContext,
  { session, input, content, raw, caller, replay_of }: ParsedSubmission,
): Promise<Submission> {
  const { services } = context;
  const evaluation = await evaluateAction(services, input, {
    raw,
    requester: requesterIn(session),
    block_reason: session.block_reason,
  });
  const { decision, analysis, proof, limits } = evaluation;
  const planned = decision.effect === "deny"
    ? planNothing(input)
    : await planAction(services, session.root, { input, content, analysis, proof, limits });
  const judged = replay_of === undefined
    ? await withinBudget(services, session.id, evaluation, planned)
    : evaluation;
  if (judged.decision.effect === "ask" && judged.decision.sandbox) {
    planned.plan.sandbox = judged.decision.sandbox;
  }
  const circumstances = await circumstancesOf(services, session.id, judged, planned);
  const parts = {
    ...{ session, analysis, planned, evaluation: judged, circumstances, replay_of },
    decision: judged.decision,
  };
  return await recordSubmission(context, judged, caller, parts);
}

/** The input that repeats a write. A changed text is written whole, with its final content. */
async function replayedInput(
  { services }: ActionContext,
  original: ActionRow,
): Promise<Parsed> {
  const { tool, plan, root } = original;
  if (!plan || toolOf(tool).undoes) {
    throw notPossible(original, "replay", "it does not write a file");
  }
  const isText = toolOf(tool).edits === "text" || plan.native !== undefined;
  const after = isText ? plan.changes[0]?.after : null;
  if (plan.native && (!after || plan.changes.length > 1)) {
    throw notPossible(original, "replay", "only its host can repeat it");
  }
  if (!after) return parseInput(tool, plan.input, root, services.roots);
  const path = plan.native ? plan.changes[0]!.path : plan.input.path;
  const { input } = parseInput("write_file", { path, content: "" }, root, services.roots);
  const content = await readBlob(services.ledger, after.sha256);
  if (content) return { input, content };
  throw notPossible(original, "replay", "its content is no longer kept");
}
