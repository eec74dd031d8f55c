import type { Caller } from "../auth/schema.ts";
import type { NewEvent } from "../db/ledger.ts";
import { GateError } from "../errors.ts";
import type { Decision } from "../policy/schema.ts";
import type { Session } from "../sessions/schema.ts";
import { onlyWhileDone } from "./done/store.ts";
import { keepContents } from "./contents.ts";
import { perform, whileUnderWay } from "./execute.ts";
import { judge } from "./judge.ts";
import { actorOf, eventOf, loadAction, notPossible, requireReviewer } from "./record.ts";
import { doesSomething, type NewRow, rowOf } from "./rows.ts";
import type { RollbackInput, RollbackResult } from "./schema.ts";
import type { RollbackToolInput } from "./inputs/schema.ts";
import { timestamp } from "./services.ts";
import { recordStarted } from "./start.ts";
import { type ActionRow, publicOf, toRow, updateAction, whereStands } from "./store.ts";
import { enter, type Entered, type Road } from "./enter.ts";
import { planUndo, type Undo } from "./undo.ts";

/** A reviewer undoes what was done; the undoing is an action too, so it can be undone. */
export function rollback(
  road: Road,
  id: string,
  input: RollbackInput,
  caller: Caller,
): Promise<RollbackResult> {
  requireReviewer(caller, "roll back");
  return road.serial.run(async () => {
    const original = await loadUndoable(road, id);
    if (!input.dry_run) return await undoOne(road, original, input, caller);
    const { limits } = (await road.services.config.inForce()).compiled;
    const on_conflict = input.on_conflict ?? "abort";
    const { outcome, changes } = await planUndo(road.services, original, limits, { on_conflict });
    return { action: publicOf(original), rollback: null, outcome, changes, dry_run: true };
  });
}

/** Undoes one action that can be undone. Only from within the project's turn. */
export async function undoOne(
  road: Road,
  original: ActionRow,
  input: Pick<RollbackInput, "on_conflict" | "reason">,
  caller: Caller,
): Promise<RollbackResult> {
  const { limits } = (await road.services.config.inForce()).compiled;
  const on_conflict = input.on_conflict ?? "abort";
  const undo = await planUndo(road.services, original, limits, { on_conflict });
  const answer = { outcome: undo.outcome, changes: undo.changes, dry_run: false };
  const reason = input.reason ?? null;
  if (undo.outcome === "already_undone") {
    const action = await markUndone(road, original, caller, reason);
    return { action: publicOf(action), rollback: null, ...answer };
  }
  const done = await undoNow(road, original, undo, { caller, reason });
  const action = await loadAction(road.services, original.id);
  return { action: publicOf(action), rollback: publicOf(done), ...answer };
}

/** An agent asks for it, for its own session and without force: policy decides. */
export async function submitRollback(
  road: Road,
  { action_id }: RollbackToolInput,
  session: Session,
  caller: Caller,
): Promise<Entered> {
  const { services } = road;
  const original = await loadUndoable(road, action_id);
  if (original.session_id !== session.id) {
    const message = `Cannot roll back action "${action_id}": it belongs to another session; ` +
      "ask a reviewer";
    throw new GateError("forbidden", message);
  }
  const { limits } = (await services.config.inForce()).compiled;
  const { draft } = await planUndo(services, original, limits, { on_conflict: "abort" });
  const judgement = await judge(services, draft.plan);
  const { decision, analysis } = judgement;
  const parts = { session, decision, analysis, draft, rollback_of: original.id };
  return await enter(road, judgement, caller, parts);
}

/** @throws GateError `conflict` for what was not carried out, not kept, or is undone already */
async function loadUndoable(road: Road, id: string): Promise<ActionRow> {
  const row = await loadAction(road.services, id);
  const why = whyNot(row);
  if (why !== null) throw notPossible(row, "roll back", why);
  return row;
}

/** Why an action cannot be undone; null where it can. */
export function whyNot(row: ActionRow): string | null {
  if (row.status === "rolled_back") return "it is rolled back already";
  if (row.status !== "approved") return `it is ${row.status}: nothing was done`;
  if (row.tool === "run_command") return whyNotCommand(row);
  if (!row.plan || !doesSomething(row.plan)) return `what a ${row.tool} does cannot be undone`;
  if (row.execution !== "succeeded") return `it was not carried out (${row.execution})`;
  return row.reversible ? null : "what was there before was too large to be kept (maxBlobBytes)";
}

/** What it changed can be undone however it ended. */
function whyNotCommand(row: ActionRow): string | null {
  const { execution, reversibility } = row;
  if (execution === "none") return "it was not carried out (none)";
  if (execution === "running") return "it is still running";
  if (row.plan && doesSomething(row.plan)) return null;
  return reversibility?.level === "reversible"
    ? "it changed no file"
    : "what a run_command does cannot be undone, but for the files it names, and it changed none";
}

async function undoNow(
  road: Road,
  original: ActionRow,
  { draft }: Undo,
  { caller, reason }: { caller: Caller; reason: string | null },
): Promise<ActionRow> {
  const { services } = road;
  const { id, root, agent, session_id } = original;
  const session = { id: session_id, root, agent };
  const parts = { session, decision: BY_REVIEWER, analysis: null, draft, rollback_of: id };
  const row = {
    ...rowOf(services, parts),
    status: "approved" as const,
    decided_at: timestamp(services.environment),
    decided_by: caller.id,
    reason,
  };
  const contents = await keepContents(services, draft.contents);
  const only = onlyWhileDone(services.project_id, id);
  const events = undoEvents(row, caller, reason);
  return await whileUnderWay(road, row.id, async () => {
    road.expiry.soon();
    const { started, intents } = await recordStarted(services, row, contents, { events, only });
    if (!started) throw notPossible(await loadAction(services, id), "roll back", JUST_UNDONE);
    const done = await perform(services, started, intents, draft.contents);
    if (done.execution === "succeeded") return done;
    throw notPossible(done, "roll back", done.error ?? "it could not be undone");
  });
}

function undoEvents(row: NewRow, caller: Caller, reason: string | null): NewEvent[] {
  const { tool, path, digest, rollback_of } = row;
  const actor = actorOf(caller, row.agent);
  return [
    eventOf(row, "action.submitted", actor, { tool, path, digest, rollback_of }),
    eventOf(row, "action.approved", actor, { status: "approved", reason, digest }),
  ];
}

/** The file is as it was already: nothing to do but to say so. */
async function markUndone(
  road: Road,
  original: ActionRow,
  caller: Caller,
  reason: string | null,
): Promise<ActionRow> {
  const { environment, ledger, project_id } = road.services;
  const decision_id = environment.id();
  const { rows } = await ledger.commit({
    statements: [updateAction(project_id, original.id, { status: "rolled_back", decision_id }, {
      status: "approved",
      execution: [original.execution],
    })],
    events: [eventOf(original, "action.rolled_back", actorOf(caller, original.agent), {
      ...{ rollback: null, by: caller.id, reason, outcome: "already_undone" },
    })],
    when: whereStands(project_id, original.id, { decision_id }),
  });
  const marked = rows[0]?.[0];
  if (marked) return toRow(marked);
  throw notPossible(
    await loadAction(road.services, original.id),
    "roll back",
    "it was just undone",
  );
}

const JUST_UNDONE = "it was just undone";

const BY_REVIEWER: Decision = {
  effect: "allow",
  rule: null,
  reason: "A reviewer rolled it back",
  alternative: null,
};
