import type { Actions } from "../actions/actions.ts";
import {
  type ActionContext,
  type ActionServices,
  loadAction,
  notPossible,
} from "../actions/context.ts";
import { inTurns } from "../actions/scheduling.ts";
import type { RollbackResult } from "../actions/schema.ts";
import { toolOf } from "../actions/tools.ts";
import { type DoneRow, listDone, listLater } from "../actions/rollback/done_store.ts";
import { planRollback, type States } from "../actions/rollback/plan_rollback.ts";
import {
  leftBy,
  proveRollback,
  type RollbackBy,
  rollbackOne,
  whyNotReversible,
} from "../actions/rollback/rollback.ts";
import type { Caller } from "../auth/schema.ts";
import { GateError } from "../errors.ts";
import { digestOf } from "../proof/digest.ts";
import { type SessionRollbackInput, SessionRollbackResult } from "./schema.ts";
import type { Sessions } from "./sessions.ts";

/** The most actions in one rollback. */
const MAX_ACTIONS = 10_000;
/** The most conflicts in one error. */
const MAX_CONFLICTS = 50;

interface Chosen {
  /** Newest first: the order of the rollback. */
  rows: DoneRow[];
  skipped: SessionRollbackResult["skipped"];
}

/**
 * Rolls back a session or the named actions of it, newest first. Plans and verifies every step
 * before the first change. When a step fails, restores the steps already done.
 * @throws GateError `forbidden`, `not_found`, or `conflict` with every conflict
 */
export async function rollbackSession(
  { actions, sessions }: { actions: Actions; sessions: Sessions },
  session_id: string,
  input: SessionRollbackInput & { action_ids?: string[] },
  caller: Caller,
): Promise<SessionRollbackResult> {
  const request = { verb: "rollback_session", id: session_id, input, caller } as const;
  const answer = SessionRollbackResult.refine((result) => result.session_id === session_id);
  const passed = await actions.passSession(request, answer);
  if (passed) return passed.body;
  return await actions.rollbackTogether(session_id, caller, async (context) => {
    const { services } = context;
    await sessions.get(session_id);
    const { rows, skipped } = await choose(services, session_id, input.action_ids);
    const actions_sha256 = digestOf(rows.map(({ id, digest }) => [id, digest]));
    requireActions(actions_sha256, input);
    if ((input.on_conflict ?? "abort") === "abort") await rejectDependents(services, rows);
    const planned = await planAll(services, rows, input);
    const by = { caller, proven: {} };
    if (!input.dry_run && rows.length > 0) {
      const { on_conflict = "abort" } = input;
      const asked = { session_id, on_conflict, actions_sha256 };
      by.proven = await proveRollback(context, null, asked, caller);
    }
    const actions = input.dry_run ? planned : await applyAll(context, rows, input, by);
    const { rollback_state } = await sessions.get(session_id);
    const { dry_run = false } = input;
    return { session_id, dry_run, rollback_state, actions, actions_sha256, skipped };
  });
}

/** @throws GateError `digest_mismatch` if the person saw other actions in the dry run */
function requireActions(
  actions_sha256: string,
  { expected_actions_sha256 = actions_sha256 }: SessionRollbackInput,
): void {
  if (expected_actions_sha256 === actions_sha256) return;
  const message = "Cannot roll back the session: its actions are not the ones that were shown; " +
    "look at the rollback again";
  throw new GateError("digest_mismatch", message, {
    fields: { expected_actions_sha256, actions_sha256 },
  });
}

async function choose(
  services: ActionServices,
  session_id: string,
  action_ids: string[] | undefined,
): Promise<Chosen> {
  const done = (await listDone(services.ledger, session_id, MAX_ACTIONS)).reverse();
  if (done.length > MAX_ACTIONS) {
    const message = `Cannot roll back session "${session_id}" at once: it has more than ` +
      `${MAX_ACTIONS} actions; roll back the newest first with gate rollback`;
    throw new GateError("conflict", message);
  }
  if (action_ids) return { rows: await named(services, session_id, done, action_ids), skipped: [] };
  // A rollback is left out, because it already undid its action.
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
      const message = `Cannot find action "${id}" in session "${session_id}"`;
      throw new GateError("not_found", message, { fields: { unknown: "action" } });
    }
    const why = whyNotReversible(row);
    if (why !== null) throw notPossible(row, "roll back", why);
  }
  return done.filter(({ id }) => wanted.has(id));
}

/** Rejects when a later action, of any session, changed a file of a chosen one. @throws GateError */
async function rejectDependents(services: ActionServices, rows: DoneRow[]): Promise<void> {
  const chosen = new Set(rows.map(({ id }) => id));
  // Rows run from newest to oldest, so the oldest row of each file remains.
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
    if (dependents.length >= MAX_CONFLICTS) break;
  }
  if (dependents.length > 0) throw dependentsError(dependents);
}

function dependentsError(dependents: { action_id: string; path: string }[]): GateError {
  const [first] = dependents;
  const message = `Cannot roll back: action "${first!.action_id}" wrote "${first!.path}" later`;
  return new GateError("conflict", message, {
    next: 'roll it back too, or use on_conflict "merge"',
    fields: { dependents: dependents.slice(0, MAX_CONFLICTS), ways: ["merge"] },
  });
}

type Step = SessionRollbackResult["actions"][number];

/** Plans each step on the files as the step before would leave them. Changes nothing. */
async function planAll(
  services: ActionServices,
  rows: DoneRow[],
  { on_conflict = "abort" }: SessionRollbackInput,
): Promise<Step[]> {
  const { limits } = (await services.config.inForce()).compiled;
  const states: States = new Map();
  const steps: Step[] = [];
  const conflicts: Conflict[] = [];
  let first: GateError | null = null;
  for await (const row of inTurns(rows)) {
    try {
      const plan = await planRollback(services, row, limits, { on_conflict, states });
      steps.push(stepOf(row.id, { ...plan, rollback: null, ...leftBy(row) }));
    } catch (error) {
      if (!(error instanceof GateError) || error.code !== "conflict") throw error;
      const { conflicts: files = [], diff = null } = error.fields;
      conflicts.push({ action_id: row.id, detail: error.message, files, diff });
      first ??= error;
      if (conflicts.length >= MAX_CONFLICTS) break;
      assumeRolledBack(row, states);
    }
  }
  if (first) throw conflictsError(first, conflicts);
  return steps;
}

/** Continues as if the step had worked, so that one outside change is reported only once. */
function assumeRolledBack(row: DoneRow, states: States): void {
  for (const { path, before } of row.plan!.changes) {
    states.set(path, before && { ...before, content: null });
  }
}

interface Conflict {
  action_id: string;
  detail: string;
  files: unknown;
  diff: unknown;
}

/** The refusal of the whole rollback, with the cause and the ways of its first conflict. */
function conflictsError({ fields }: GateError, conflicts: readonly Conflict[]): GateError {
  const { action_id, why, ways, next } = fields;
  const message = `Cannot roll back action "${action_id}": ${why}; nothing was touched`;
  return new GateError("conflict", message, {
    next: typeof next === "string" ? next : `gate show ${action_id}`,
    fields: { conflicts, ...ways !== undefined && { ways } },
  });
}

async function applyAll(
  context: ActionContext,
  rows: DoneRow[],
  input: SessionRollbackInput,
  by: RollbackBy,
): Promise<Step[]> {
  const done: RollbackResult[] = [];
  try {
    for await (const row of inTurns(rows)) {
      done.push(
        await rollbackOne(context, await loadAction(context.services, row.id), input, by),
      );
    }
  } catch (error) {
    await restore(context, done, by);
    throw error;
  }
  return done.map((result) => stepOf(result.action.id, result));
}

/** Restores the steps already done, after a later step failed. */
async function restore(
  context: ActionContext,
  done: RollbackResult[],
  by: RollbackBy,
): Promise<void> {
  const reason = "The rest of the rollback failed";
  for await (const { rollback } of inTurns(done.toReversed())) {
    if (!rollback) continue;
    const row = await loadAction(context.services, rollback.id);
    try {
      await rollbackOne(context, row, { reason }, by);
    } catch (cause) {
      const message =
        `Cannot finish the rollback, and cannot roll back its part "${rollback.id}": ` +
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
  { outcome, changes, rollback, left }: Pick<
    RollbackResult,
    "outcome" | "changes" | "rollback" | "left"
  >,
): Step {
  return { action_id, rollback_id: rollback?.id ?? null, outcome, changes, ...left && { left } };
}
