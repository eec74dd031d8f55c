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
import type { OpenWalls } from "../../sandbox/schema.ts";
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
import { asksEachTime, executorOf, toolOf } from "../tools.ts";
import { actorOf, eventOf, type Transition, transition } from "../transition.ts";
import { reasonWith } from "./comments.ts";
import { requireConfirmed } from "./confirmation.ts";
import { closing } from "./notices.ts";
import { requireOpenable } from "./openable.ts";
import { planOnBase } from "./rebase.ts";
import { elsewhere } from "../../db/elsewhere.ts";
import { isWhole } from "./approval.ts";
import { recheck } from "./recheck.ts";
import { type Ballot, ballotOf, decides, recordVote, rejection, voteEvent } from "./voting.ts";
import { partOf } from "../held_changes/part.ts";
import { absolutePath } from "../show/unnamed_files.ts";
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
  await services.team.requireDecider(caller, "approve the action");
  const row = await loadPending(context, id, "approve", input.expected_digest);
  if (await elsewhere(services.ledger, row.session_id) !== null) {
    return await approveElsewhere(context, row, { input, caller });
  }
  if (input.permit !== undefined) requirePermittable(row, input);
  if (input.open !== undefined) await requireOpenable(services, row, input, input.open);
  if (asksEachTime(row.tool) && input.remember !== undefined) {
    const what = toolOf(row.tool).leases ? "a plan is" : "changes of a command are";
    const why = `${what} approved each time; approve it without "remember"`;
    throw new GateError("invalid", `Cannot approve the action: ${why}`);
  }
  const ballot = await ballotOf(context, row, caller);
  // A second vote of the same person changes nothing.
  if (ballot === "voted") return row;
  requireConfirmed(services, row, input.confirm);
  if (ballot !== null) requireVotable(ballot, input);
  const is_routed = ballot !== null;
  if (input.base_sha256 !== undefined) {
    const version = await planOnBase(services, row, input.base_sha256);
    const proven = await prove(context, row, "approve", input, caller);
    return await approveVersion(context, row, { version, input, caller, proven, is_routed });
  }
  await recheck(services, row);
  const proven = await prove(context, row, "approve", input, caller);
  return await commitApproval(context, row, { input, caller, proven, is_routed });
}

/**
 * Approves an action whose agent works on another machine. That machine compares the plan with its
 * files and its policy before it executes it.
 */
async function approveElsewhere(
  context: ActionContext,
  row: ActionRow,
  { input, caller }: { input: ApproveInput; caller: Caller },
): Promise<ActionRow> {
  const { services } = context;
  if (!row.plan || !isWhole(row, row.plan)) {
    throw notPossible(row, "approve", "its plan was changed in the ledger; reject it");
  }
  const ballot = await ballotOf(context, row, caller);
  if (ballot === "voted") return row;
  requireConfirmed(services, row, input.confirm);
  const proven = await prove(context, row, "approve", input, caller);
  return await commitApproval(context, row, { input, caller, proven, is_routed: ballot !== null });
}

/** Refuses to remember, permit or open more where the route asks each time or asks several people. @throws GateError `invalid` */
function requireVotable(
  { standing: { route } }: Ballot,
  { remember, permit, open }: ApproveInput,
): void {
  const why = remember !== undefined
    ? `route "${route.name}" asks each time; approve it without "remember"`
    : permit !== undefined && route.quorum > 1
    ? `route "${route.name}" asks ${route.quorum} people; approve it without "permit"`
    : open !== undefined && (route.quorum > 1 || open.for === "session")
    ? `route "${route.name}" asks each time; approve it without "open" or open a wall once`
    : null;
  if (why !== null) throw new GateError("invalid", `Cannot approve the action: ${why}`);
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
  await services.team.requireDecider(caller, "approve the action");
  const row = await loadPending(context, id, "approve", input.expected_digest);
  const ballot = await ballotOf(context, row, caller);
  if (ballot === "voted") {
    const next = "reject it, or let another member edit it";
    throw notPossible(row, "edit", `you have approved this version already; ${next}`);
  }
  requireConfirmed(services, row, input.confirm);
  const is_routed = ballot !== null;
  const { content, command, encoding, base_sha256 } = input;
  const { edits } = toolOf(row.tool);
  if (base_sha256 !== undefined) {
    const isOther = command !== undefined || input.take !== undefined;
    if (edits !== "text" || content === undefined || isOther) {
      throw new GateError("invalid", `Cannot edit a ${row.tool} on another base without "content"`);
    }
    const version = await planOnBase(services, row, base_sha256, bytesOf(content, encoding));
    const proven = await prove(context, row, "approve_with_edit", input, caller);
    return await approveVersion(context, row, { version, input, caller, proven, is_routed });
  }
  await recheck(services, row);
  const version = await editedVersion(context, row, input);
  const proven = await prove(context, row, "approve_with_edit", input, caller);
  return await approveVersion(context, row, { version, input, caller, proven, is_routed });
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
  if (!proof && extras.permit === undefined && extras.open === undefined) return {};
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
  await context.services.team.requireDecider(caller, "reject the action");
  const row = await loadPending(context, id, "reject", input.expected_digest);
  const { comments = [], settled = [] } = input;
  const reason = await reasonWith(context.services, row, input.reason ?? null, comments);
  return await decide(context, row, "reject", {
    to: { status: "rejected", decided_by: caller.id, reason },
    by: actorOf(caller, row.agent),
    type: "action.rejected",
    why: {
      ...{ status: "rejected", reason, digest: row.digest },
      ...comments.length > 0 && { comments },
      ...settled.length > 0 && { settled },
    },
    ...row.route && { earlier: [rejection(row, row.route, caller)] },
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
  input: {
    reason?: string;
    remember?: Remember;
    take?: readonly string[];
    open?: OpenWalls;
  };
  caller: Caller;
  proven: Proven;
  /** An approval route asks for it, so it is a vote. */
  is_routed: boolean;
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
  let row = await loadAction(context.services, id);
  const { services: { environment }, deadlines } = context;
  if (row.status === "pending" && (row.expires_at ?? "~") <= timestamp(environment)) {
    await deadlines.expireDue();
    row = await loadAction(context.services, id);
    // Only its own machine records that.
    if (row.status === "pending") throw notPossible(row, verb, "its time is over");
  }
  if (row.status !== "pending") throw notPossible(row, verb, `it is ${row.status}`);
  requireDigest(row, verb, expected_digest);
  return row;
}

/** Approves another version than the held one. @throws GateError `conflict` if policy denies it */
async function approveVersion(
  context: ActionContext,
  row: ActionRow,
  { version: { planned, evaluation }, ...approval }: Approval & { version: Version },
): Promise<ActionRow> {
  const { analysis, decision } = evaluation;
  const { caller } = approval;
  if (decision.effect === "deny") {
    const message = `Cannot approve the edited version: policy blocks it: ${decision.reason}`;
    throw new GateError("conflict", message, { fields: { decision } });
  }
  const fields = planFields({ session: row, decision, analysis, planned, evaluation });
  const { command, digest } = row;
  const content_sha256 = toolOf(row.tool).takes_over ? null : row.after_sha256;
  const { changes, scripts, accesses, programs } = row.plan!;
  const held = { changes, scripts, accesses, ...programs && { programs } };
  const proposed = { content_sha256, command, digest, held };
  return await commitApproval(context, row, {
    ...approval,
    edit: {
      fields: { ...fields, edited: true, analysis, proposed },
      statements: await keepContents(context.services, planned.contents),
      event: eventOf(row, "action.edited", actorOf(caller, row.agent), {
        from: row.digest,
        to: fields.digest,
        command: fields.command,
        before_sha256: fields.before_sha256,
        sha256: fields.after_sha256,
        ...approval.input.take && { take: approval.input.take },
      }),
    },
  });
}

/**
 * Commits the approval and executes the action. Returns the row after it: still held if its route
 * asks more people.
 */
async function commitApproval(
  context: ActionContext,
  row: ActionRow,
  approval: Approval,
): Promise<ActionRow> {
  const now = approval.is_routed
    ? await context.voting.run(() => vote(context, row, approval))
    : await tryApprove(context, row, approval) ?? await refuseLate(context, row, "approve");
  if (now.status !== "approved") return now;
  const { budgets, ledger } = context.services;
  budgets.renew(row);
  if (executorOf(now) !== "gate" || await elsewhere(ledger, row.session_id) !== null) return now;
  return await executeApproved(context, now);
}

/** Counts the approval of a routed action; approves every other action. */
async function vote(
  context: ActionContext,
  seen: ActionRow,
  approval: Approval,
): Promise<ActionRow> {
  // An escalation may come between the count and the commit. The votes are then counted again.
  for (let tries = 1; tries < MAX_TRIES; tries++) {
    const row = await loadPending(context, seen.id, "approve", seen.digest);
    const voted = await tryVote(context, row, approval);
    if (voted) return voted;
    if (!await isUnchanged(context, row)) break;
  }
  return await refuseLate(context, seen, "approve");
}

const MAX_TRIES = 5;

/** Returns null if the action changed meanwhile. */
async function tryVote(
  context: ActionContext,
  row: ActionRow,
  approval: Approval,
): Promise<ActionRow | null> {
  const { caller, proven, edit, input } = approval;
  const ballot = await ballotOf(context, row, caller);
  if (ballot === "voted") return row;
  if (ballot === null) return await tryApprove(context, row, approval);
  const digest = edit?.fields.digest ?? row.digest;
  const is_deciding = decides(ballot, edit !== undefined);
  const cast = { verdict: "approve" as const, digest, reason: input.reason ?? null };
  // The approval that follows the deciding vote carries its proof.
  const event = voteEvent(row, ballot, caller, { ...cast, ...is_deciding ? {} : proven });
  if (is_deciding) return await tryApprove(context, row, approval, event);
  return await recordVote(
    context,
    row,
    event,
    edit && {
      to: edit.fields,
      earlier: [edit.event],
      before: edit.statements,
    },
  );
}

async function tryApprove(
  context: ActionContext,
  row: ActionRow,
  { input, caller, proven, edit }: Approval,
  vote?: NewEvent,
): Promise<ActionRow | null> {
  const { services } = context;
  const reason = input.reason ?? null;
  const opened = input.open && eventOf(row, "wall.opened", actorOf(caller, row.agent), {
    ...{ opening_id: services.environment.id(), ...input.open, digest: row.digest },
  });
  const remembering = input.remember &&
    await rememberApproval(services, { ...row, ...edit?.fields }, input.remember, caller);
  const decided = await tryDecide(context, row, {
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
    // The check of a proof expects the edit right before the approval.
    earlier: [...vote ? [vote] : [], ...edit ? [edit.event] : []],
    later: [...remembering ? [remembering.event] : [], ...opened ? [opened] : []],
    before: edit?.statements,
    after: remembering && ((changed) => [remembering.statement(changed)]),
  });
  if (opened) services.openings.forget(row.session_id);
  return decided;
}

/** Decides on a held action. One caller wins, before the deadline, for the plan that was loaded. */
async function decide(
  context: ActionContext,
  row: ActionRow,
  verb: string,
  change: Omit<Transition, "from">,
): Promise<ActionRow> {
  let seen = row;
  for (let tries = 1; tries < MAX_TRIES; tries++) {
    const decided = await tryDecide(context, seen, change);
    if (decided) return decided;
    if (row.route === null || !await isUnchanged(context, row)) break;
    seen = await loadAction(context.services, row.id);
  }
  return await refuseLate(context, row, verb);
}

/** Returns null if the action was decided or changed meanwhile, or has expired. */
async function tryDecide(
  { services }: ActionContext,
  row: ActionRow,
  { later = [], ...change }: Omit<Transition, "from">,
): Promise<ActionRow | null> {
  const now = timestamp(services.environment);
  return await transition(services, row, {
    ...change,
    to: { ...change.to, decided_at: now },
    from: {
      status: "pending",
      digest: row.digest,
      unexpired_at: now,
      // The votes and escalations before it were read on this state.
      ...row.route && { decision_id: row.decision_id },
    },
    later: [...later, ...await closing(services, row)],
  });
}

/** Whether the action still waits for a decision on the same version. */
async function isUnchanged({ services }: ActionContext, row: ActionRow): Promise<boolean> {
  const { status, digest, expires_at } = await loadAction(services, row.id);
  const now = timestamp(services.environment);
  return status === "pending" && digest === row.digest && (expires_at === null || expires_at > now);
}

/** @throws GateError `conflict`: another decision, or the deadline, came first */
async function refuseLate(
  { services, deadlines }: ActionContext,
  { id }: ActionRow,
  verb: string,
): Promise<never> {
  await deadlines.expireDue();
  const current = await loadAction(services, id);
  throw notPossible(current, verb, `it is ${current.status}`);
}

async function editedVersion(
  context: ActionContext,
  row: ActionRow,
  { content, command, encoding, take }: ApproveWithEditInput,
): Promise<Version> {
  const { edits, takes_over } = toolOf(row.tool);
  if (takes_over || take !== undefined) {
    if (takes_over && take && content === undefined && command === undefined) {
      return await takePart(context, row, take);
    }
    const only = takes_over ? 'an edit of it takes "take"' : 'an edit of it takes no "take"';
    throw new GateError("invalid", `Cannot edit a ${row.tool}: ${only}`);
  }
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

/** The held changes of these files, and no others. @throws GateError `invalid` for another file */
async function takePart(
  { services }: ActionContext,
  row: ActionRow,
  take: readonly string[],
): Promise<Version> {
  const plan = row.plan!;
  const part = partOf(row.root, plan, take);
  const known = new Set(plan.changes.map(({ path }) => path));
  const unknown = take.find((path) => !known.has(absolutePath(path, row.root)!));
  if (unknown !== undefined) {
    const shown = JSON.stringify(unknown.slice(0, 200));
    throw new GateError("invalid", `Cannot take over ${shown}: the action does not change it`);
  }
  const irreversible = row.reversible ? null : "an old content is larger than maxBlobBytes";
  const planned: Planned = { plan: { ...plan, ...part }, contents: [], irreversible };
  return { planned, evaluation: await evaluateAgain(services, row, planned.plan) };
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
