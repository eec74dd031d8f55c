import { type DoneRow, listDone, listLater } from "../actions/undo/done_store.ts";
import type { ActionContext } from "../actions/context.ts";
import { loadAction, notPossible, requireReviewer } from "../actions/context.ts";
import { rollbackOne, whyNotReversible } from "../actions/undo/rollback.ts";
import type { RollbackResult } from "../actions/schema.ts";
import type { ActionServices } from "../actions/context.ts";
import { inTurns } from "../actions/scheduling.ts";
import { planRollback, type States } from "../actions/undo/plan_rollback.ts";
import type { Caller } from "../auth/schema.ts";
import { GateError } from "../errors.ts";
import type { SessionRollbackInput, SessionRollbackResult } from "./schema.ts";
import { toolOf } from "../actions/tools.ts";

/** More than this is not thought through at once. */
const MOST = 10_000;
/** Conflicts that are told of; who sees so many does not miss the rest. */
const MOST_CONFLICTS = 50;

interface Chosen {
  /** Newest first: the order in which they are undone. */
  rows: DoneRow[];
  skipped: SessionRollbackResult["skipped"];
}

/**
 * Undoes a session, or the actions named of it, newest first: everything is planned and verified
 * before anything is touched, and taken back where it cannot be finished.
 * @throws GateError `conflict` with every conflict, `not_found`
 */
export function rollbackSession(
  road: ActionContext,
  session_id: string,
  input: SessionRollbackInput & { action_ids?: string[] },
  caller: Caller,
): Promise<SessionRollbackResult> {
  requireReviewer(caller, "roll back");
  return road.serial.run(async () => {
    const { services } = road;
    await services.sessions.get(session_id);
    const { rows, skipped } = await choose(services, session_id, input.action_ids);
    if ((input.on_conflict ?? "abort") === "abort") await refuseDependents(services, rows);
    const planned = await planAll(services, rows, input);
    const actions = input.dry_run ? planned : await applyAll(road, rows, input, caller);
    const { rollback_state } = await services.sessions.get(session_id);
    return { session_id, dry_run: input.dry_run ?? false, rollback_state, actions, skipped };
  });
}

async function choose(
  services: ActionServices,
  session_id: string,
  action_ids: string[] | undefined,
): Promise<Chosen> {
  const done = (await listDone(services.ledger, session_id, MOST)).reverse();
  if (done.length > MOST) {
    const message = `Cannot roll back session "${session_id}" at once: it did more than ${MOST} ` +
      "things; undo the newest first with gate rollback";
    throw new GateError("conflict", message);
  }
  if (action_ids) return { rows: await named(services, session_id, done, action_ids), skipped: [] };
  // A rollback that stands has made its action undone already.
  const own = done.filter(({ tool, status }) => !toolOf(tool).undoes && status === "approved");
  const skipped = own.filter(({ tool }) => toolOf(tool).access !== "read").flatMap((row) => {
    const why = whyNotReversible(row);
    return why === null ? [] : [{ action_id: row.id, tool: row.tool, why }];
  });
  return { rows: own.filter((row) => whyNotReversible(row) === null), skipped };
}

async function named(
  services: ActionServices,
  session_id: string,
  done: DoneRow[],
  action_ids: string[],
): Promise<DoneRow[]> {
  const wanted = new Set(action_ids);
  const known = new Map(done.map((row) => [row.id, row]));
  for await (const id of inTurns(wanted)) {
    const row = known.get(id) ?? await loadAction(services, id);
    if (row.session_id !== session_id) {
      throw new GateError("not_found", `Cannot find action "${id}" in session "${session_id}"`);
    }
    const why = whyNotReversible(row);
    if (why !== null) throw notPossible(row, "roll back", why);
  }
  return done.filter(({ id }) => wanted.has(id));
}

/** A later write that stands on a chosen one, in this session or another, would lose its ground. */
async function refuseDependents(services: ActionServices, rows: DoneRow[]): Promise<void> {
  const chosen = new Set(rows.map(({ id }) => id));
  // From newest to oldest: what stays is the oldest of each file.
  const oldest = new Map<string, { row: DoneRow; shown: string }>();
  for (const row of rows) {
    for (const { path, shown } of row.plan!.changes) oldest.set(path, { row, shown });
  }
  const withRollbacks = rows.some(({ tool }) => toolOf(tool).undoes);
  const dependents = [];
  for await (const [path, { row, shown }] of inTurns(oldest)) {
    const { started_at, done_seq } = row;
    const since = { started_at: started_at ?? "", done_seq };
    const later = await listLater(services.ledger, path, since, withRollbacks);
    for (const { action_id, session_id } of later) {
      if (!chosen.has(action_id)) dependents.push({ action_id, session_id, path: shown });
    }
    if (dependents.length >= MOST_CONFLICTS) break;
  }
  if (dependents.length > 0) throw dependentsError(dependents);
}

function dependentsError(dependents: { action_id: string; path: string }[]): GateError {
  const [first] = dependents;
  const message = `Cannot roll back: action "${first!.action_id}" wrote "${first!.path}" later; ` +
    'roll it back too, or use on_conflict "merge"';
  return new GateError("conflict", message, {
    fields: { dependents: dependents.slice(0, MOST_CONFLICTS) },
  });
}

type Step = SessionRollbackResult["actions"][number];

/** Thinks it through on the files as each undoing would leave them; touches nothing. */
async function planAll(
  services: ActionServices,
  rows: DoneRow[],
  { on_conflict = "abort" }: SessionRollbackInput,
): Promise<Step[]> {
  const { limits } = (await services.config.inForce()).compiled;
  const states: States = new Map();
  const steps: Step[] = [];
  const conflicts: Record<string, unknown>[] = [];
  for await (const row of inTurns(rows)) {
    try {
      const undo = await planRollback(services, row, limits, { on_conflict, states });
      steps.push(stepOf(row.id, { ...undo, rollback: null }));
    } catch (error) {
      if (!(error instanceof GateError) || error.code !== "conflict") throw error;
      const { conflicts: files = [], diff = null } = error.fields;
      conflicts.push({ action_id: row.id, detail: error.message, files, diff });
      if (conflicts.length >= MOST_CONFLICTS) break;
      pretendUndone(row, states);
    }
  }
  if (conflicts.length > 0) throw conflictsError(conflicts);
  return steps;
}

/** So that one change from outside is not told of once for every write before it. */
function pretendUndone(row: DoneRow, states: States): void {
  for (const { path, before } of row.plan!.changes) {
    states.set(path, before && { ...before, content: null });
  }
}

function conflictsError(conflicts: Record<string, unknown>[]): GateError {
  const [first] = conflicts;
  const why = String(first!.detail).replace(/^Cannot roll back /, "");
  const message = `Cannot roll back: ${why}; nothing was touched`;
  return new GateError("conflict", message, { fields: { conflicts } });
}

async function applyAll(
  road: ActionContext,
  rows: DoneRow[],
  input: SessionRollbackInput,
  caller: Caller,
): Promise<Step[]> {
  const done: RollbackResult[] = [];
  try {
    for await (const row of inTurns(rows)) {
      done.push(await rollbackOne(road, await loadAction(road.services, row.id), input, caller));
    }
  } catch (error) {
    await takeBack(road, done, caller);
    throw error;
  }
  return done.map((result) => stepOf(result.action.id, result));
}

/** Something came between plan and deed: what was undone so far is done again. */
async function takeBack(
  road: ActionContext,
  done: RollbackResult[],
  caller: Caller,
): Promise<void> {
  const reason = "The rest of the rollback could not be done";
  for await (const { rollback } of inTurns(done.toReversed())) {
    if (!rollback) continue;
    const row = await loadAction(road.services, rollback.id);
    try {
      await rollbackOne(road, row, { reason }, caller);
    } catch (cause) {
      const message = `Cannot finish the rollback, and cannot undo its part "${rollback.id}": ` +
        `${(cause as Error).message}; look at the session`;
      throw new GateError("conflict", message, {
        cause,
        fields: { left: done.map(({ action }) => action.id) },
      });
    }
  }
}

function stepOf(
  action_id: string,
  { outcome, changes, rollback }: Pick<RollbackResult, "outcome" | "changes" | "rollback">,
): Step {
  return { action_id, rollback_id: rollback?.id ?? null, outcome, changes };
}
