import { approversOf } from "../../approval_routes/approval_routes.ts";
import { listOfAction } from "../../audit/store.ts";
import { sha256 } from "../../db/chain.ts";
import { GateError } from "../../errors.ts";
import type { AuditEvent } from "../../evidence/schema.ts";
import type { ApprovalAsked } from "../../proof/approval_asked.ts";
import { DECIDED } from "../../proof/deed_check.ts";
import { NOT_HELD } from "../../proof/place_check.ts";
import type { EventCheck } from "../../proof/proofs.ts";
import type { ActionServices } from "../context.ts";
import { partOf } from "../held_changes/part.ts";
import { digestOf, type Plan } from "../plan.ts";
import type { ActionRow } from "../store.ts";
import { executorOf } from "../tools.ts";
import { rebase } from "./rebase.ts";
import { recheck, whyNotAllowed } from "./recheck.ts";

/**
 * Verifies that an approved action may be executed: its plan still applies, and if a person approved
 * it, the log has the proof of exactly this. A row alone is no approval, because every program of
 * the same user can write it. @throws GateError `conflict`
 */
export async function recheckApproved(services: ActionServices, row: ActionRow): Promise<void> {
  const why = await whyNotApproved(services, row);
  if (why !== null) throw refuse(services, row, why);
  await recheck(services, row);
}

/** Why the log does not show the approval of an action; null if it does. */
export async function whyNotApproved(
  services: ActionServices,
  row: ActionRow,
): Promise<string | null> {
  const { plan } = row;
  if (!plan || !isWhole(row, plan)) return "its plan was changed in the ledger";
  if (row.decided_by === "policy") return null;
  const check = await services.proofs.eventCheck();
  if (check === null) return null;
  const events = await listOfAction(services.ledger, row.id);
  const { approved, edit, isUsed, isHeld } = readLog(events);
  if (!approved) return `${NO_PROOF}: nobody approved it`;
  const fault = await check(approved, edit) ?? await faultOfFit(services, row, approved, plan) ??
    (isHeld ? null : NOT_HELD) ?? await faultOfQuorum(services, row, { approved, events, check });
  if (fault !== null) return `${NO_PROOF}: ${fault}`;
  return isUsed && row.execution === "none" ? "its approval was used already" : null;
}

/**
 * Why the log does not show that a person, or the policy, let an execution begin that has not ended;
 * null if it does. The files may be half changed, so they are not compared.
 */
export async function whyNotRunning(
  services: ActionServices,
  row: ActionRow,
  faultOfRollback: (approved: AuditEvent) => Promise<string | null>,
): Promise<string | null> {
  const { plan, status, decided_by } = row;
  if (!plan || !isWhole(row, plan)) return "its plan was changed in the ledger";
  if (status !== "approved") return `it is ${status}`;
  const events = await listOfAction(services.ledger, row.id);
  const { approved, edit, isUsed, isFinished, isHeld } = readLog(events);
  if (!approved) return `${NO_PROOF}: nobody approved it`;
  if (!isUsed) return "the log does not show its start";
  if (isFinished) return "its execution has ended already";
  if (decided_by === "policy") return await whyNotAllowed(services, row, plan);
  const check = await services.proofs.eventCheck();
  if (check === null) return null;
  const fault = await check(approved, edit) ??
    (verbOf(approved) === "rollback"
      ? await faultOfRollback(approved)
      : await faultOfFit(services, row, approved, plan) ?? (isHeld ? null : NOT_HELD) ??
        await faultOfQuorum(services, row, { approved, events, check }));
  return fault === null ? null : `${NO_PROOF}: ${fault}`;
}

/** Why fewer people than its route asks have signed an approval of this version; null if enough. */
async function faultOfQuorum(
  services: ActionServices,
  { route }: ActionRow,
  { approved, events, check }: {
    approved: AuditEvent;
    events: readonly AuditEvent[];
    check: EventCheck;
  },
): Promise<string | null> {
  const submitted = events.find(({ type }) => type === "action.submitted");
  const { quorum = 1 } = (submitted?.data.route ?? {}) as { quorum?: number };
  const need = Math.max(route?.quorum ?? 1, quorum);
  if (need === 1) return null;
  const able = await ableToVote(services, route, submitted);
  const people = new Set([approved.actor.id].filter(able));
  for (const [at, event] of events.entries()) {
    if (event.seq > approved.seq) break;
    const { type, data, actor } = event;
    const isVote = type === "vote.cast" && data.verdict === "approve" &&
      data.digest === approved.data.digest;
    if (!isVote || people.has(actor.id) || !able(actor.id)) continue;
    const before = events[at - 1];
    const edit = before?.type === "action.edited" ? before : null;
    if (await check(event, edit) === null) people.add(actor.id);
  }
  return people.size >= need ? null : `its route asks ${need} people, and ${people.size} signed`;
}

/** Whether a person is asked by the route: a key of anybody else does not count towards its quorum. */
async function ableToVote(
  { team }: ActionServices,
  route: ActionRow["route"],
  submitted: AuditEvent | undefined,
): Promise<(id: string) => boolean> {
  const requester = submitted?.actor.kind === "reviewer" ? submitted.actor.id : null;
  const people = await team.people();
  const asked = route && [...approversOf(route.approvers, people), ...route.escalate_to];
  return (id) => id !== requester && (asked ?? people.map((one) => one.id)).includes(id);
}

const NO_PROOF = "no proof of a person's approval stands in the log";

/** Whether the fields that are executed are those of the plan, and the plan is the digest's. */
export function isWhole(row: ActionRow, plan: Plan): boolean {
  // The effects of what others executed are part of its plan.
  if (row.execution !== "none" && executorOf(row) !== "gate") return true;
  const { tool, command, cwd, digest } = row;
  return plan.tool === tool && plan.command === command && plan.cwd === cwd &&
    digestOf(plan) === digest && plan.changes.every(isEvaluated, plan);
}

/** Policy evaluates the accesses, so each change needs one. */
function isEvaluated(this: Plan, { path }: Plan["changes"][number]): boolean {
  return this.accesses.some(({ access, target }) => access !== "read" && target.real === path);
}

/** The newest approval, whether nothing was decided before, its edit, and what began after it. */
function readLog(events: readonly AuditEvent[]) {
  const at = events.findLastIndex(({ type }) => type === "action.approved");
  const before = events[at - 1];
  const after = events.slice(at + 1);
  return {
    approved: events[at] ?? null,
    isHeld: !events.slice(0, Math.max(0, at)).some(({ type }) => DECIDED.has(type)),
    edit: before?.type === "action.edited" ? before : null,
    isUsed: after.some(({ type }) => type === "action.started" || type === "action.finished"),
    isFinished: after.some(({ type }) => type === "action.finished"),
  };
}

/** Why the approval is not one of this row; null if it is. Its proof has been checked. */
async function faultOfFit(
  services: ActionServices,
  row: ActionRow,
  { data }: Pick<AuditEvent, "data">,
  plan: Plan,
): Promise<string | null> {
  const other = "it is for another version of the action";
  const verb = verbOf({ data });
  // A person's rollback starts in the commit that approves it, so it never waits here.
  if (verb !== "approve" && verb !== "approve_with_edit") return "it is for another deed";
  if (data.digest !== row.digest) return other;
  if (data.edited !== true) return null;
  const asked = data.asked as ApprovalAsked;
  return await isEditOf(services, { row, plan, asked }) ? null : other;
}

function verbOf({ data }: Pick<AuditEvent, "data">): string {
  return (data.proof as { challenge: { verb: string } }).challenge.verb;
}

/** Whether the plan is the held one of this digest, with the edit that was signed. */
async function isEditOf(
  services: ActionServices,
  { row, plan, asked }: { row: ActionRow; plan: Plan; asked: ApprovalAsked },
): Promise<boolean> {
  const { proposed } = row;
  if (!proposed?.held) return false;
  const { command } = proposed;
  const { changes, scripts, accesses, programs } = proposed.held;
  const { programs: _edited, ...rest } = plan;
  const held = { ...rest, command, changes, scripts, accesses, ...programs && { programs } };
  if (digestOf(held) !== asked.digest) return false;
  if (asked.take !== undefined) {
    const part = partOf(row.root, proposed.held, asked.take);
    return digestOf({ ...held, ...part }) === digestOf(plan);
  }
  if (asked.command_sha256 !== undefined) {
    return plan.changes.length === 0 && sha256(plan.command ?? "") === asked.command_sha256;
  }
  const isSame = plan.command === command &&
    namesOf(plan) === namesOf({ ...plan, changes, accesses });
  if (!isSame) return false;
  const last = plan.changes.at(-1);
  const { base_sha256, content_sha256 } = asked;
  if (base_sha256 !== undefined && (last?.before?.sha256 ?? null) !== base_sha256) return false;
  if (content_sha256 !== undefined) return plan.changes[0]?.after?.sha256 === content_sha256;
  // While it runs, its file may have the new content already. The recovery of one file writes none.
  if (row.execution === "running" && last?.after) return plan.changes.length === 1;
  if (row.execution !== "running") {
    const held: ActionRow = { ...row, status: "pending", plan: { ...plan, changes } };
    const rebased = await rebase(services, held);
    if (!rebased?.how) return false;
    if (last?.after) return rebased.after?.state.sha256 === last.after.sha256;
  }
  // A deletion or a move takes the file as it is now.
  return plan.changes.slice(0, -1).every(({ after }) => after?.sha256 === base_sha256);
}

/** The files, folder and command of a plan, without contents. */
function namesOf({ changes, accesses }: Plan): string {
  return JSON.stringify([
    changes.map(({ path, after }) => [path, after === null]),
    // A moved file keeps the mode that it has now.
    changes.length === 1 ? changes[0]!.after?.mode : null,
    accesses.map(({ access, target }) => [access, target.real]),
  ]);
}

function refuse({ environment }: ActionServices, row: ActionRow, why: string): GateError {
  const { id, project_id, decided_by } = row;
  const shown = { project_id, action_id: id, decided_by, why };
  environment.log("error", "an approved action is refused: its ledger was changed", shown);
  return new GateError(
    "conflict",
    `Cannot execute the action: ${why}; let the agent submit it again`,
    {
      fields: { current_status: row.status },
    },
  );
}
