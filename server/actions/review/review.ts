import type { Caller } from "../../auth/schema.ts";
import { requireNotViewer, requireReviewer } from "../../auth/scopes.ts";
import type { NewEvent, Statement } from "../../db/ledger.ts";
import { GateError } from "../../errors.ts";
import type { Remember } from "../../grants/schema.ts";
import type { Analysis } from "../../policy/schema.ts";
import {
  type ApprovalAsked,
  approvalAsked,
  type ApprovalExtras,
} from "../../proof/approval_asked.ts";
import type { ProofRecord } from "../../proof/schema.ts";
import { sha256 } from "../../db/chain.ts";
import { keepContents } from "../contents.ts";
import {
  type ActionContext,
  loadAction,
  notPossible,
  requireDigest,
  timestamp,
} from "../context.ts";
import { executeApproved } from "../execute/execute.ts";
import type { ParsedInput } from "../plan.ts";
import type { ApproveInput, ApproveWithEditInput, CancelInput, RejectInput } from "../schema.ts";
import type { ActionRow, Fields } from "../store.ts";
import { type ActionEvaluation, evaluateAgain } from "../submit/evaluate.ts";
import { rememberApproval } from "../submit/grant_use.ts";
import { bytesOf, checkCommand } from "../submit/input.ts";
import { planFields } from "../submit/new_row.ts";
import { newState, planCommand, type Planned } from "../submit/plan_action.ts";
import { executorOf, toolOf } from "../tools.ts";
import { actorOf, eventOf, type Transition, transition } from "../transition.ts";
import { planOnBase } from "./rebase.ts";
import { recheck } from "./recheck.ts";
import { widenedBy } from "./widening.ts";

/**
 * Approves a held action and executes it, if the gate executes it. With `base_sha256` the held
 * change is put onto the present content of its file, which the reviewer has seen.
 */
export async function approve(
  context: ActionContext,
  id: string,
  input: ApproveInput,
  caller: Caller,
): Promise<ActionRow> {
  requireReviewer(caller, "approve the action", "gate approve");
  const { services } = context;
  const row = await loadPending(context, id, "approve", input.expected_digest);
  if (input.permit !== undefined) requirePermittable(row, input);
  if (input.base_sha256 !== undefined) {
    const version = await planOnBase(services, row, input.base_sha256);
    const proven = await prove(context, row, "approve", input, caller);
    return await approveVersion(context, row, { version, input, caller, proven });
  }
  await recheck(services, row);
  const proven = await prove(context, row, "approve", input, caller);
  return await commitApproval(context, row, { input, caller, proven });
}

/** Approves a version that the reviewer has edited. Policy evaluates it like any other plan. */
export async function approveWithEdit(
  context: ActionContext,
  id: string,
  input: ApproveWithEditInput,
  caller: Caller,
): Promise<ActionRow> {
  requireReviewer(caller, "approve the action", "gate approve");
  const { services } = context;
  const row = await loadPending(context, id, "approve", input.expected_digest);
  const { content, command, encoding, base_sha256 } = input;
  const { edits } = toolOf(row.tool);
  if (base_sha256 !== undefined) {
    if (edits !== "text" || content === undefined || command !== undefined) {
      throw new GateError("invalid", `Cannot edit a ${row.tool} on another base without "content"`);
    }
    const version = await planOnBase(services, row, base_sha256, bytesOf(content, encoding));
    const proven = await prove(context, row, "approve_with_edit", input, caller);
    return await approveVersion(context, row, { version, input, caller, proven });
  }
  await recheck(services, row);
  const version = await editedVersion(context, row, input);
  const proven = await prove(context, row, "approve_with_edit", input, caller);
  return await approveVersion(context, row, { version, input, caller, proven });
}

/** The part of an approval's event that is about the proof. */
interface Proven {
  proof?: ProofRecord;
  /** The fields that the proof covers beside the digest of the held action. */
  asked?: ApprovalAsked;
}

/** Asks for the proof of an approval: of the held action and of everything that is added to it. */
async function prove(
  { services: { proofs, project_id, ledger } }: ActionContext,
  row: ActionRow,
  verb: "approve" | "approve_with_edit",
  extras: ApprovalExtras,
  caller: Caller,
): Promise<Proven> {
  const { asked, digest } = await approvalAsked(row.digest, extras, sha256);
  const head = ledger.head.hash;
  const proof = await proofs.require(caller, { verb, project_id, action_id: row.id, digest, head });
  if (!proof && extras.permit === undefined) return {};
  return { ...proof && { proof }, ...asked && { asked } };
}

/** A permit holds for one run of a command, so no grant repeats it. @throws GateError `invalid` */
function requirePermittable(row: ActionRow, { remember }: ApproveInput): void {
  const why = row.command === null
    ? "it is no command"
    : remember === undefined
    ? null
    : 'a remembered approval has no "permit"; approve this run alone';
  if (why === null) return;
  throw new GateError("invalid", `Cannot permit changes of guarded files: ${why}`);
}

/** Rejects a held action. The agent gets the reason. */
export async function reject(
  context: ActionContext,
  id: string,
  input: RejectInput,
  caller: Caller,
): Promise<ActionRow> {
  requireReviewer(caller, "reject the action", "gate reject");
  const row = await loadPending(context, id, "reject", input.expected_digest);
  const reason = input.reason ?? null;
  return await decide(context, row, "reject", {
    to: { status: "rejected", decided_by: caller.id, reason },
    by: actorOf(caller, row.agent),
    type: "action.rejected",
    why: { status: "rejected", reason, digest: row.digest },
  });
}

/** Withdraws a held action, usually for its agent. */
export async function cancel(
  context: ActionContext,
  id: string,
  input: CancelInput,
  caller: Caller,
): Promise<ActionRow> {
  requireNotViewer(caller, "cancel");
  const row = await loadPending(context, id, "cancel", undefined);
  const decided_by = caller.scope === "agent" ? row.agent : caller.id;
  const reason = input.reason ?? null;
  return await decide(context, row, "cancel", {
    to: { status: "cancelled", decided_by, reason },
    by: actorOf(caller, row.agent),
    type: "action.cancelled",
    why: { reason },
  });
}

/** A plan that replaces the held one, with its evaluation. */
export interface Version {
  planned: Planned;
  evaluation: ActionEvaluation;
}

/** How an approval is given. */
interface Approval {
  input: { reason?: string; remember?: Remember };
  caller: Caller;
  proven: Proven;
  /** The fields that an edit replaces, with the statements that keep its contents. */
  edit?: { fields: Fields & { digest: string }; statements: Statement[]; event: NewEvent };
}

/** @throws GateError `conflict` if it is not held, `digest_mismatch` if the reviewer saw another plan */
async function loadPending(
  context: ActionContext,
  id: string,
  verb: string,
  expected_digest: string | undefined,
): Promise<ActionRow> {
  const row = await loadAction(context.services, id);
  if (row.status !== "pending") throw notPossible(row, verb, `it is ${row.status}`);
  requireDigest(row, verb, expected_digest);
  return row;
}

/** Approves another version than the held one. @throws GateError `conflict` if policy denies it */
async function approveVersion(
  context: ActionContext,
  row: ActionRow,
  { version: { planned, evaluation }, input, caller, proven }: Approval & { version: Version },
): Promise<ActionRow> {
  const { analysis, decision } = evaluation;
  if (decision.effect === "deny") {
    const message = `Cannot approve the edited version: policy blocks it: ${decision.reason}`;
    throw new GateError("conflict", message, { fields: { decision } });
  }
  const fields = planFields({ session: row, decision, analysis, planned, evaluation });
  const { after_sha256: content_sha256, command, digest } = row;
  const { changes, scripts, accesses, programs } = row.plan!;
  const held = { changes, scripts, accesses, ...programs && { programs } };
  const proposed = { content_sha256, command, digest, held };
  return await commitApproval(context, row, {
    input,
    caller,
    proven,
    edit: {
      fields: { ...fields, edited: true, analysis, proposed },
      statements: await keepContents(context.services, planned.contents),
      event: eventOf(row, "action.edited", actorOf(caller, row.agent), {
        from: row.digest,
        to: fields.digest,
        command: fields.command,
        before_sha256: fields.before_sha256,
        sha256: fields.after_sha256,
      }),
    },
  });
}

/** Commits the approval and executes the action. Returns the row after it. */
async function commitApproval(
  context: ActionContext,
  row: ActionRow,
  { input, caller, proven, edit }: Approval,
): Promise<ActionRow> {
  const reason = input.reason ?? null;
  const remembering = input.remember &&
    await rememberApproval(context.services, { ...row, ...edit?.fields }, input.remember, caller);
  const approved = await decide(context, row, "approve", {
    to: {
      ...edit?.fields,
      status: "approved",
      decided_by: caller.id,
      reason,
      // Nobody reports the outcome of an unknown tool.
      ...executorOf(row) === "nobody" ? { execution: "unknown" } : {},
    },
    by: actorOf(caller, row.agent),
    type: "action.approved",
    why: {
      status: "approved",
      reason,
      digest: edit?.fields.digest ?? row.digest,
      edited: edit !== undefined,
      ...proven,
    },
    earlier: edit && [edit.event],
    later: remembering && [remembering.event],
    before: edit?.statements,
    after: remembering && ((changed) => [remembering.statement(changed)]),
  });
  context.services.budgets.renew(row);
  return executorOf(approved) === "gate" ? await executeApproved(context, approved) : approved;
}

/** Decides on a held action. One caller wins, before the deadline, for the plan that was loaded. */
async function decide(
  context: ActionContext,
  row: ActionRow,
  verb: string,
  change: Omit<Transition, "from">,
): Promise<ActionRow> {
  const { services, deadlines } = context;
  const now = timestamp(services.environment);
  const decided = await transition(services, row, {
    ...change,
    to: { ...change.to, decided_at: now },
    from: { status: "pending", digest: row.digest, unexpired_at: now },
  });
  if (decided) return decided;
  await deadlines.expireDue();
  const current = await loadAction(services, row.id);
  throw notPossible(current, verb, `it is ${current.status}`);
}

async function editedVersion(
  context: ActionContext,
  row: ActionRow,
  { content, command, encoding }: ApproveWithEditInput,
): Promise<Version> {
  const { edits } = toolOf(row.tool);
  if (edits === "command" && command !== undefined && content === undefined) {
    return await editedCommand(context, row, command);
  }
  if (edits === "text" && content !== undefined && command === undefined) {
    return await editedText(context, row, bytesOf(content, encoding));
  }
  const what = edits === "command"
    ? '"command"'
    : edits === "text"
    ? '"content"'
    : "neither content nor command";
  throw new GateError("invalid", `Cannot edit a ${row.tool}: an edit of it takes ${what}`);
}

async function editedText(
  { services }: ActionContext,
  row: ActionRow,
  content: Uint8Array,
): Promise<Version> {
  const plan = row.plan!;
  const [change] = plan.changes;
  const after = newState(content, change!.after?.mode ?? null);
  const planned: Planned = {
    plan: { ...plan, changes: [{ ...change!, after: after.state }] },
    contents: [{ sha256: after.state.sha256, content }],
    irreversible: row.reversible
      ? null
      : "the present content of the file is larger than maxBlobBytes",
  };
  return { planned, evaluation: await evaluateAgain(services, row) };
}

async function editedCommand(
  { services }: ActionContext,
  row: ActionRow,
  command: string,
): Promise<Version> {
  checkCommand(command, "run the edited command");
  const { programs: _programs, ...held } = row.plan!;
  const input: ParsedInput = { ...held, command, input: { ...held.input, command } };
  const evaluation = await evaluateAgain(services, row, input);
  const { analysis, proof, limits } = evaluation;
  const widened = widenedBy(row.analysis ?? NO_EFFECTS, analysis ?? NO_EFFECTS, row.cwd!);
  if (widened !== null) {
    const message = `Cannot approve the edited command: it does more than the agent's command: ` +
      `${widened}; reject it and say in the reason which command to run instead`;
    throw new GateError("invalid", message);
  }
  const planned = await planCommand(services, row.root, { input, analysis, proof, limits });
  return { planned, evaluation };
}

const NO_EFFECTS: Analysis = { commands: [], reads: [], writes: [], deletes: [], unresolved: [] };
