import type { Caller } from "../../auth/schema.ts";
import { requireReviewer } from "../../auth/scopes.ts";
import type { NewEvent } from "../../db/ledger.ts";
import type { Decision } from "../../policy/schema.ts";
import { GateError } from "../../errors.ts";
import { digestOf } from "../../proof/digest.ts";
import type { ProofRecord } from "../../proof/schema.ts";
import { keepContents } from "../contents.ts";
import {
  type ActionContext,
  type ActionSession,
  loadAction,
  notPossible,
  requireDigest,
  timestamp,
  unknownAction,
} from "../context.ts";
import { executeNew } from "../execute/execute.ts";
import { changesAnything } from "../plan.ts";
import type { RollbackInput, RollbackResult } from "../schema.ts";
import { type ActionRow, type NewRow, publicOf } from "../store.ts";
import { evaluateAction, requesterIn } from "../submit/evaluate.ts";
import { newRow } from "../submit/new_row.ts";
import { recordSubmission, type Submission } from "../submit/record.ts";
import type { RollbackToolInput } from "../submit/schema.ts";
import { toolOf } from "../tools.ts";
import { actorOf, eventOf, transition } from "../transition.ts";
import { onlyWhileDone } from "./done_store.ts";
import { planRollback, type RollbackPlan } from "./plan_rollback.ts";

/** Rolls an action back for a reviewer. The rollback is an action too, so it can be rolled back. */
export function rollback(
  context: ActionContext,
  id: string,
  input: RollbackInput,
  caller: Caller,
): Promise<RollbackResult> {
  requireReviewer(caller, "roll back the action", "gate rollback");
  return context.serial.run(async () => {
    const original = await loadReversible(context, id);
    requireDigest(original, "roll back", input.expected_digest);
    if (!input.dry_run) {
      // Planned first, so that nobody proves a rollback that is not possible.
      await planFor(context, original, input);
      const { on_conflict = "abort" } = input;
      const asked = { action_id: id, digest: original.digest, on_conflict };
      const proven = await proveRollback(context, id, asked, caller);
      return await rollbackOne(context, original, input, { caller, proven });
    }
    const { outcome, changes } = await planFor(context, original, input);
    return {
      ...{ action: publicOf(original), rollback: null, outcome, changes, dry_run: true },
      ...leftBy(original),
    };
  });
}

/** The reviewer of a rollback, with the proof that permits it. */
export interface RollbackBy {
  caller: Caller;
  /** Empty where no proof is asked. `asked` is what the proof covers. */
  proven: { proof?: ProofRecord; asked?: Record<string, unknown> };
}

/** Asks a reviewer to prove a rollback: of one action, or of a session (`action_id` null). */
export async function proveRollback(
  { services: { proofs, project_id, ledger } }: ActionContext,
  action_id: string | null,
  asked: Record<string, unknown>,
  caller: Caller,
): Promise<RollbackBy["proven"]> {
  const deed = { verb: "rollback" as const, project_id, action_id, head: ledger.head.hash };
  const proof = await proofs.require(caller, { ...deed, digest: digestOf(asked) });
  return proof ? { proof, asked } : {};
}

/** Rolls one reversible action back. The caller must run inside `context.serial`. */
export async function rollbackOne(
  context: ActionContext,
  original: ActionRow,
  input: Pick<RollbackInput, "on_conflict" | "reason">,
  by: RollbackBy,
): Promise<RollbackResult> {
  const plan = await planFor(context, original, input);
  const result = {
    outcome: plan.outcome,
    changes: plan.changes,
    dry_run: false,
    ...leftBy(original),
  };
  const reason = input.reason ?? null;
  if (plan.outcome === "already_undone") {
    const action = await markRolledBack(context, original, by, reason);
    return { action: publicOf(action), rollback: null, ...result };
  }
  const done = await executeRollback(context, original, plan, { ...by, reason });
  const action = await loadAction(context.services, original.id);
  return { action: publicOf(action), rollback: publicOf(done), ...result };
}

/**
 * Submits a rollback for an agent: of its own session, without force, and under the policy.
 * @throws GateError `conflict`, for an agent without texts and diff
 */
export async function submitRollback(
  context: ActionContext,
  { action_id }: RollbackToolInput,
  session: ActionSession,
  caller: Caller,
): Promise<Submission> {
  const { services } = context;
  // Another session's action is answered like an unknown one.
  const { session_id } = await loadAction(services, action_id);
  if (session_id !== session.id) throw unknownAction(action_id);
  const original = await loadReversible(context, action_id);
  const { planned } = await planFor(context, original, {}).catch((error) => {
    throw caller.scope === "agent" ? withoutTexts(error) : error;
  });
  const evaluation = await evaluateAction(services, planned.plan, {
    requester: requesterIn(session),
    block_reason: session.block_reason,
  });
  const { decision, analysis } = evaluation;
  const parts = { session, decision, analysis, planned, evaluation, rollback_of: original.id };
  return await recordSubmission(context, evaluation, caller, parts);
}

/** A conflict without the contents of files: no policy has said yet that the agent may read them. */
function withoutTexts(error: unknown): unknown {
  if (!(error instanceof GateError) || !Array.isArray(error.fields["conflicts"])) return error;
  const { diff: _diff, conflicts, ...fields } = error.fields;
  const hashes = (conflicts as Record<string, unknown>[]).map(({ texts: _texts, ...one }) => one);
  return new GateError(error.code, error.message, { fields: { ...fields, conflicts: hashes } });
}

/** Why an action cannot be rolled back; null if it can. */
export function whyNotReversible(row: ActionRow): string | null {
  if (row.status === "rolled_back") return "it is rolled back already";
  if (row.status !== "approved") return `it is ${row.status}: nothing was done`;
  if (toolOf(row.tool).restores === "effects") return whyNotReversibleCommand(row);
  if (!row.plan || !changesAnything(row.plan)) return `a ${row.tool} cannot be rolled back`;
  if (row.execution !== "succeeded") return whyNotExecuted(row.execution);
  return row.reversible ? null : "the old content was too large to be kept (maxBlobBytes)";
}

/** Why an action that did not succeed is not rolled back. */
function whyNotExecuted(execution: ActionRow["execution"]): string {
  return execution === "none" ? "it was not executed" : `it was not executed (${execution})`;
}

/** Changes of files can be rolled back even if the command failed. */
function whyNotReversibleCommand(row: ActionRow): string | null {
  const { execution, reversibility } = row;
  if (execution === "none") return whyNotExecuted(execution);
  if (execution === "running") return "it is still running";
  if (row.plan && changesAnything(row.plan)) return null;
  return reversibility?.level === "reversible"
    ? "it changed no file"
    : "only files that a run_command names can be restored, and it changed none";
}

/** @throws GateError `conflict` if it was not executed, not kept, or is rolled back already */
async function loadReversible({ services }: ActionContext, id: string): Promise<ActionRow> {
  const row = await loadAction(services, id);
  const why = whyNotReversible(row);
  if (why !== null) throw notPossible(row, "roll back", why);
  return row;
}

/** What the rollback of a command does not restore, or may not. */
export function leftBy({ reversibility }: ActionRow): Pick<RollbackResult, "left"> {
  return reversibility && reversibility.level !== "reversible" ? { left: reversibility.why } : {};
}

async function planFor(
  { services }: ActionContext,
  original: ActionRow,
  { on_conflict = "abort" }: Pick<RollbackInput, "on_conflict">,
): Promise<RollbackPlan> {
  const { limits } = (await services.config.inForce()).compiled;
  return await planRollback(services, original, limits, { on_conflict });
}

async function executeRollback(
  context: ActionContext,
  original: ActionRow,
  { planned }: RollbackPlan,
  { caller, proven, reason }: RollbackBy & { reason: string | null },
): Promise<ActionRow> {
  const { services } = context;
  const { id, root, agent, session_id } = original;
  const session = { id: session_id, root, agent };
  const parts = { session, decision: BY_REVIEWER, analysis: null, planned, rollback_of: id };
  const row = {
    ...newRow(services, parts),
    status: "approved" as const,
    decided_at: timestamp(services.environment),
    decided_by: caller.id,
    reason,
  };
  const done = await executeNew(context, row, {
    contents: planned.contents,
    before: await keepContents(services, planned.contents),
    only: onlyWhileDone(services.project_id, id),
    events: rollbackEvents(row, { caller, proven }, reason),
    in_queue: true,
  });
  if (!done) throw notPossible(await loadAction(services, id), "roll back", LOST_RACE);
  if (done.execution === "succeeded") return done;
  throw notPossible(done, "roll back", done.error ?? "its files could not be restored");
}

function rollbackEvents(
  row: NewRow,
  { caller, proven }: RollbackBy,
  reason: string | null,
): NewEvent[] {
  const { tool, path, digest, rollback_of } = row;
  const actor = actorOf(caller, row.agent);
  return [
    eventOf(row, "action.submitted", actor, { tool, path, digest, rollback_of }),
    eventOf(row, "action.approved", actor, {
      status: "approved",
      reason,
      digest,
      ...proven.proof && { rollback_of, ...proven },
    }),
  ];
}

/** The files have their old content already, so only the status changes. */
async function markRolledBack(
  { services }: ActionContext,
  original: ActionRow,
  { caller, proven }: RollbackBy,
  reason: string | null,
): Promise<ActionRow> {
  const marked = await transition(services, original, {
    from: { status: "approved", execution: [original.execution] },
    to: { status: "rolled_back" },
    by: actorOf(caller, original.agent),
    type: "action.rolled_back",
    why: { rollback: null, by: caller.id, reason, outcome: "already_undone", ...proven },
  });
  if (marked) return marked;
  throw notPossible(await loadAction(services, original.id), "roll back", LOST_RACE);
}

const LOST_RACE = "it was just rolled back";

const BY_REVIEWER: Decision = {
  effect: "allow",
  rule: null,
  reason: "A reviewer rolled it back",
  alternative: null,
  sandbox: null,
};
