import { droppedText } from "../../shown/dropped_text.ts";
import type { Caller } from "../../auth/schema.ts";
import { requireNotViewer, requireReviewer } from "../../auth/scopes.ts";
import { lastDrop, readBlob } from "../../db/blobs.ts";
import { GateError } from "../../errors.ts";
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
import { type Parsed, parseInput } from "./input.ts";
import { judge } from "./judge.ts";
import { recordSubmission, type Submission } from "./record.ts";
import { RollbackToolInput, SubmitPlanInput } from "./schema.ts";
import { submitPlan } from "./submit_plan.ts";

/** Validates, plans, evaluates and records a tool call; executes it if policy allows it. */
export async function submit(
  context: ActionContext,
  { tool, input: raw, session_id, search_path }: SubmitInput,
  caller: Caller,
): Promise<Submission> {
  requireNotViewer(caller, "submit an action");
  const { services } = context;
  if (toolOf(tool).takes_over) {
    const why = "gate itself submits the changes of a command; run the command with run_command";
    throw new GateError("invalid", `Cannot submit ${tool}: ${why}`);
  }
  const session = await services.sessions.resolve(session_id, caller);
  if (toolOf(tool).undoes) {
    return await submitRollback(context, parse(RollbackToolInput, raw), session, caller);
  }
  if (toolOf(tool).leases) {
    const input = parse(SubmitPlanInput, raw);
    return await submitPlan(context, { input, session, caller, search_path });
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
  const is_replay = replay_of !== undefined;
  const judged = await judge(context.services, session, { input, content, raw, is_replay });
  const { evaluation, planned, circumstances } = judged;
  const { decision, analysis } = evaluation;
  return await recordSubmission(context, evaluation, caller, {
    ...{ session, analysis, planned, evaluation, circumstances, replay_of, decision },
  });
}

/** The input that repeats a write. A changed text is written whole, with its final content. */
async function replayedInput(
  { services }: ActionContext,
  original: ActionRow,
): Promise<Parsed> {
  const { tool, plan, root } = original;
  if (toolOf(tool).takes_over) {
    throw notPossible(original, "replay", "only its command makes these changes again");
  }
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
  const dropped_at = await lastDrop(services.ledger, [after.sha256]);
  const why = dropped_at === null
    ? "its content is no longer kept"
    : droppedText("its content", dropped_at);
  throw notPossible(original, "replay", why);
}
