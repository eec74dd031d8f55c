import type { Caller } from "../auth/schema.ts";
import type { NewEvent, Statement } from "../db/ledger.ts";
import { GateError } from "../errors.ts";
import type { Remembering } from "../grants/remember.ts";
import { isDoneHere } from "./allowed.ts";
import { carryOut } from "./execute.ts";
import { rememberApproval } from "./granted.ts";
import { recheck } from "./recheck.ts";
import {
  actorOf,
  eventOf,
  loadAction,
  notPossible,
  requireNotViewer,
  requireReviewer,
} from "./record.ts";
import type { ApproveInput, CancelInput, RejectInput } from "./schema.ts";
import { timestamp } from "./services.ts";
import { type ActionRow, type Fields, toRow, updateAction, whereStands } from "./store.ts";
import type { Road } from "./enter.ts";

/** Approves exactly what is recorded, and does it where the gate is the one who does. */
export async function approve(
  road: Road,
  id: string,
  input: ApproveInput,
  caller: Caller,
): Promise<ActionRow> {
  requireReviewer(caller, "approve");
  const row = await loadPending(road, id, "approve", input.expected_digest);
  await recheck(road.services, row);
  const reason = input.reason ?? null;
  const remembering = input.remember &&
    await rememberApproval(road.services, row, input.remember, caller);
  return await commitApproval(road, row, { caller, reason, remembering });
}

/** Rejects what is held; the reason is for the agent. */
export async function reject(
  road: Road,
  id: string,
  input: RejectInput,
  caller: Caller,
): Promise<ActionRow> {
  requireReviewer(caller, "reject");
  const row = await loadPending(road, id, "reject", input.expected_digest);
  const reason = input.reason ?? null;
  const fields = { status: "rejected" as const, decided_by: caller.id, reason };
  const told = { status: "rejected", reason, digest: row.digest };
  return await decide(road, row, "reject", fields, {
    events: [eventOf(row, "action.rejected", actorOf(caller, row.agent), told)],
  });
}

/** The agent withdraws what nobody has decided yet. */
export async function cancel(
  road: Road,
  id: string,
  input: CancelInput,
  caller: Caller,
): Promise<ActionRow> {
  requireNotViewer(caller, "cancel");
  const row = await loadPending(road, id, "cancel", undefined);
  const decided_by = caller.scope === "agent" ? row.agent : caller.id;
  const reason = input.reason ?? null;
  return await decide(road, row, "cancel", { status: "cancelled", decided_by, reason }, {
    events: [eventOf(row, "action.cancelled", actorOf(caller, row.agent), { reason })],
  });
}

/** The action, if it can still be decided on. @throws GateError `conflict`, `digest_mismatch` */
export async function loadPending(
  road: Road,
  id: string,
  verb: string,
  expected_digest: string | undefined,
): Promise<ActionRow> {
  const row = await loadAction(road.services, id);
  if (row.status !== "pending") throw notPossible(row, verb, `it is ${row.status}`);
  if (expected_digest !== undefined && expected_digest !== row.digest) {
    const message = `Cannot ${verb} action "${id}": what it would do is not what was shown; ` +
      "look at it again";
    throw new GateError("digest_mismatch", message, {
      fields: { expected_digest, digest: row.digest },
    });
  }
  return row;
}

/** How an approval is given. */
export interface Approval {
  caller: Caller;
  reason: string | null;
  /** What an edit replaces, with what keeps it. */
  edit?: { fields: Fields; statements: Statement[]; event: NewEvent };
  /** What makes the same happen without being asked again, for a while. */
  remembering?: Remembering;
}

/** Commits the approval and carries the action out; the row as it stands afterwards. */
export async function commitApproval(
  road: Road,
  row: ActionRow,
  { caller, reason, edit, remembering }: Approval,
): Promise<ActionRow> {
  const isClaimed = row.tool === "run_command" || row.plan?.native !== undefined;
  const doneElsewhere = !isDoneHere(row.tool) && !isClaimed;
  const fields: Fields = {
    ...edit?.fields,
    status: "approved",
    decided_by: caller.id,
    reason,
    // Tools of other hosts: without their report nobody knows what came of it.
    ...(doneElsewhere ? { execution: "unknown" } : {}),
  };
  const approved = eventOf(row, "action.approved", actorOf(caller, row.agent), {
    status: "approved",
    reason,
    digest: edit?.fields.digest ?? row.digest,
    edited: edit !== undefined,
  });
  const decided = await decide(road, row, "approve", fields, {
    events: [...edit ? [edit.event] : [], approved, ...remembering ? [remembering.event] : []],
    before: edit?.statements,
    after: remembering && ((stands) => [remembering.statement(stands)]),
  });
  return isDoneHere(decided.tool) ? await carryOut(road, decided) : decided;
}

/** What is committed together with a decision. */
interface Along {
  events: NewEvent[];
  before?: Statement[];
  /** Given what finds a row where the decision stands. */
  after?: (stands: Statement) => Statement[];
}

/** One winner: the row changes only while it is pending, unexpired and what the caller has seen. */
async function decide(
  road: Road,
  row: ActionRow,
  verb: string,
  fields: Fields,
  { events, before = [], after = () => [] }: Along,
): Promise<ActionRow> {
  const { ledger, project_id, environment } = road.services;
  const decision_id = environment.id();
  const now = timestamp(environment);
  const when = whereStands(project_id, row.id, { decision_id });
  const { rows } = await ledger.commit({
    statements: [
      ...before,
      updateAction(project_id, row.id, { ...fields, decision_id, decided_at: now }, {
        status: "pending",
        digest: row.digest,
        unexpired_at: now,
      }),
      ...after(when),
    ],
    events,
    when,
  });
  const decided = rows[before.length]?.[0];
  if (decided) return toRow(decided);
  await road.expiry.expireDue();
  const current = await loadAction(road.services, row.id);
  throw notPossible(current, verb, `it is ${current.status}`);
}
