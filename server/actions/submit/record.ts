import type { Caller } from "../../auth/schema.ts";
import type { NewEvent, Statement } from "../../db/ledger.ts";
import { RoutesUnknown } from "../../approval_routes/approval_routes.ts";
import { GateError } from "../../errors.ts";
import { type FileImage, readImage } from "../../runtime/file_image.ts";
import { noteConflicts, pathsOf } from "../conflicts/conflicts.ts";
import { insertHeldPaths } from "../conflicts/store.ts";
import { keepContents } from "../contents.ts";
import { type ActionContext, type ActionServices, timestamp } from "../context.ts";
import { newClaim } from "../execute/claims.ts";
import { executeNew, MAX_READ_BYTES, unreadable } from "../execute/execute.ts";
import {
  type ActionRow,
  countHeld,
  findTwin,
  heldBytes,
  type NewRow,
  type TwinQuery,
  unlessTwin,
} from "../store.ts";
import { wantsOutside } from "../plan.ts";
import { beginGuarding, withdrawGuarding } from "../guarding/project_guard.ts";
import { asksEachTime, executorOf, toolOf } from "../tools.ts";
import { actorOf, BY_POLICY, BY_SYSTEM, eventOf, insertNew } from "../transition.ts";
import { type ActionEvaluation, withoutSandbox } from "./evaluate.ts";
import { countChanged } from "./count_changed.ts";
import { findUse } from "./grant_use.ts";
import { routeOf } from "./held_route.ts";
import { overLimit } from "../intake.ts";
import { findStep, mayHaveLease } from "../review/lease.ts";
import { firstNotice } from "../review/notices.ts";
import { newRow, type RowParts } from "./new_row.ts";
import { shortenRefused } from "./shorten.ts";
import type { Planned } from "./plan_action.ts";

/** An action after its submission. A read that was allowed at once comes with the file's image. */
export interface Submission {
  row: ActionRow;
  image: FileImage | null;
}

/** An equal submission within this time joins the open one. */
const TWIN_MS = 10 * 60_000;

/** How often a grant is tried again after another action took the same use. */
const MAX_TRIES = 100;

/** A blocked action changes nothing, so nothing can be rolled back. */
const IRREVERSIBLE = { reversible: false, reversibility: null };

/**
 * Inserts a new action together with policy's decision, in one commit. Then it executes, holds or
 * leaves the action, as decided. All submissions take this way, so that no tool skips the policy.
 */
export async function recordSubmission(
  context: ActionContext,
  evaluation: ActionEvaluation,
  caller: Caller,
  parts: RowParts,
): Promise<Submission> {
  const { services: { budgets, thresholds } } = context;
  const submission = await record(context, evaluation, caller, parts);
  const { row } = submission;
  // Only the end of a command tells what it changed.
  if (row.status === "approved" && executorOf(row) !== "claimer") budgets.count(row);
  const { id: action_id, session_id, agent, status, decision, risk, replay_of } = row;
  const is_denied = status === "blocked" && decision.rule?.source !== "auto-block";
  const is_critical = risk.level === "critical" && status !== "approved";
  if (replay_of === null && (is_denied || is_critical)) {
    const conduct = { session_id, agent, action_id, is_denied, is_critical };
    await thresholds.note(conduct, evaluation.limits);
  }
  return submission;
}

async function record(
  context: ActionContext,
  evaluation: ActionEvaluation,
  caller: Caller,
  parts: RowParts,
): Promise<Submission> {
  const { services } = context;
  const row = newRow(services, parts);
  const { planned: { contents } } = parts;
  switch (evaluation.decision.effect) {
    case "deny": {
      const decided = { ...row, ...decidedByPolicy(context, "blocked"), ...IRREVERSIBLE };
      const blocked = shortenRefused(decided);
      await requireQuota(context, blocked, evaluation);
      return (await insertDecided(context, { row: blocked, contents, caller }))!;
    }
    case "ask":
      return await useGrantOrHold(context, { row, contents, caller }, evaluation);
    case "allow": {
      await requireQuota(context, row, evaluation);
      // A person may have remembered that it runs outside the sandbox.
      const bare = evaluation.outside?.effect === "ask" ? withoutSandbox(evaluation) : null;
      const granted = bare !== null && await findUse(services, row, bare)
        ? await useGrant(context, { row, contents, caller }, bare)
        : null;
      const stepped = granted ?? await takeStep(context, { row, contents, caller }, evaluation);
      if (stepped) return stepped;
      services.intake.count(row.session_id, contents);
      const before = await keepContents(services, contents);
      const allowed = { ...row, ...decidedByPolicy(context, "approved") };
      const submission = await proceed(context, { row: allowed, contents, caller, before });
      services.contents.note(contents);
      return submission!;
    }
  }
}

/** A new action on its way into the ledger. */
interface Entry {
  row: NewRow;
  contents: Planned["contents"];
  caller: Caller;
  /** Statements and events of the same commit. */
  before?: Statement[];
  events?: NewEvent[];
  /** A condition: if it does not hold, nothing is inserted. */
  only?: Statement;
}

async function useGrantOrHold(
  context: ActionContext,
  entry: Entry,
  evaluation: ActionEvaluation,
): Promise<Submission> {
  const { services } = context;
  await requireQuota(context, entry.row, evaluation);
  const route = await takenRoute(services, entry.row);
  if (route !== "unknown") entry = { ...entry, row: { ...entry.row, route } };
  // A route that nobody can tell may ask people who gave no earlier approval.
  const remembered = route === "unknown" ? null : await useEarlier(context, entry, evaluation);
  if (remembered) return remembered;
  await requireRoom(context, entry, evaluation);
  services.intake.count(entry.row.session_id, entry.contents);
  const before = await keepContents(services, entry.contents);
  return await hold(context, { ...entry, before }, evaluation);
}

/** Commits an action that a person approved earlier, by a plan or a grant. Null if nobody did. */
async function useEarlier(
  context: ActionContext,
  entry: Entry,
  evaluation: ActionEvaluation,
): Promise<Submission | null> {
  const { row } = entry;
  const stepped = await takeStep(context, entry, evaluation);
  // A grant is one person's approval, and a route asks others or more of them.
  if (stepped || row.route !== null || asksEachTime(row.tool)) return stepped;
  if (!await findUse(context.services, row, evaluation)) return null;
  return await useGrant(context, entry, evaluation);
}

/** Commits an action that is the next step of an approved plan. Null if it is none. */
async function takeStep(
  context: ActionContext,
  entry: Entry,
  evaluation: ActionEvaluation,
): Promise<Submission | null> {
  const { services, granting } = context;
  const { row, contents } = entry;
  if (asksEachTime(row.tool) || !await mayHaveLease(services.ledger, row.session_id)) return null;
  const open = await findTwin(services.ledger, twinOf(context, row, evaluation));
  // The agent lost sight of an approved action: it takes no further step.
  if (open?.status === "approved") return { row: open, image: null };
  return await granting.run(async () => {
    const step = await findStep(services, row, evaluation);
    if (!step) return null;
    services.intake.count(row.session_id, contents);
    const before = await keepContents(services, contents);
    const { decision, event, only } = step;
    const allowed = { ...row, ...decidedByPolicy(context, "approved"), decision };
    return await proceed(context, { ...entry, row: allowed, before, events: [event], only });
  });
}

/** The route of a new action. Where nobody can tell the routes, the action waits without one. */
async function takenRoute(
  services: ActionServices,
  row: NewRow,
): Promise<NewRow["route"] | "unknown"> {
  try {
    return await routeOf(services, row);
  } catch (error) {
    if (!(error instanceof RoutesUnknown)) throw error;
    services.environment.log("error", error.message, { action_id: row.id });
    return "unknown";
  }
}

/** Commits the use of a grant together with the action that it allows. Null without a usable grant. */
async function useGrant(
  context: ActionContext,
  entry: Entry,
  evaluation: ActionEvaluation,
): Promise<Submission | null> {
  const { services, granting } = context;
  const { row, contents } = entry;
  const open = await findTwin(services.ledger, twinOf(context, row, evaluation));
  // The agent lost sight of an approved action: it needs no further use.
  if (open?.status === "approved") return { row: open, image: null };
  services.intake.count(row.session_id, contents);
  const kept = await keepContents(services, contents);
  return await granting.run(async () => {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const use = await findUse(services, row, evaluation);
      if (!use) return null;
      const { take, only, event, note } = use;
      const decision = { ...use.decision, sandbox: evaluation.decision.sandbox };
      const allowed = { ...row, ...decidedByPolicy(context, "approved"), decision };
      const commit = { before: [...kept, take], events: [event], only };
      const submission = await proceed(context, { ...entry, row: allowed, ...commit });
      if (submission) {
        note();
        return submission;
      }
    }
    return null;
  });
}

/**
 * No agent fills the disk with records. A person's replay is not counted.
 * @throws GateError `rate_limited`, after an event the first time
 */
async function requireQuota(
  { services }: ActionContext,
  row: NewRow,
  { decision, limits }: ActionEvaluation,
): Promise<void> {
  if (row.replay_of !== null) return;
  const is_refused = decision.effect === "deny";
  const { session_id, command, plan, analysis, tool } = row;
  const texts = [plan, analysis, row.decision, row.risk].map((one) => JSON.stringify(one).length);
  // A command is in its row, in its event and in the index of words.
  const bytes = texts.reduce((sum, length) => sum + length, 2 * (command?.length ?? 0));
  const reached = services.intake.admit({ session_id, bytes, is_refused }, limits);
  if (reached === null) return;
  const { limit, most, retry_after, is_first } = reached;
  if (is_first) {
    const data = { limit, most, retry_after, tool, effect: decision.effect };
    const event = { session_id, action_id: null, type: "quota.reached" as const, data };
    await services.ledger.commit({ statements: [], events: [{ ...event, actor: BY_SYSTEM }] });
    services.environment.log("warn", "an agent has reached a quota", { session_id, limit, most });
  }
  const subject = is_refused ? "the action, which policy refuses" : "the action";
  const next = is_refused
    ? "stop repeating what is refused, and tell the person; it is not done"
    : `submit it again in ${retry_after} seconds, or let a person raise the limit`;
  throw overLimit(reached, subject, next);
}

/**
 * No agent fills the queue of the people. An action that joins its open twin takes no room.
 * @throws GateError `rate_limited`, `too_large`
 */
async function requireRoom(
  { services }: ActionContext,
  { row }: Entry,
  { limits }: ActionEvaluation,
): Promise<void> {
  const { maxHeldPerSession, maxHeldPerProject, maxHeldBytesPerSession } = limits;
  const held = await countHeld(services.ledger, row);
  const bytes = held.bytes + heldBytes(row);
  const next = "wait until they are reviewed, or cancel some";
  if (held.in_session >= maxHeldPerSession) {
    const what = `${held.in_session} actions of this session already wait for a person`;
    throw new GateError("rate_limited", `Cannot hold the action: ${what}; ${next}`);
  }
  if (held.in_project >= maxHeldPerProject) {
    const what = `${held.in_project} actions of this project already wait for a person`;
    throw new GateError("rate_limited", `Cannot hold the action: ${what}; ${next}`);
  }
  if (bytes > maxHeldBytesPerSession) {
    const what = `the waiting actions of this session would hold ${bytes} bytes, more than ` +
      `maxHeldBytesPerSession (${maxHeldBytesPerSession})`;
    throw new GateError("too_large", `Cannot hold the action: ${what}; ${next}`);
  }
}

/** Holds the action for a person, or joins its open twin. */
async function hold(
  context: ActionContext,
  entry: Entry,
  evaluation: ActionEvaluation,
): Promise<Submission> {
  const { services } = context;
  const { ledger, project_id, environment } = services;
  const { row, caller, before } = entry;
  const seconds = row.route?.expires_after_seconds ?? evaluation.limits.approvalTimeoutSeconds;
  const expires_at = timestamp(environment, seconds * 1000);
  const pending = { ...row, expires_at, lines: row.plan && countChanged(row.plan, entry.contents) };
  const twin = twinOf(context, row, evaluation);
  const held = await insertNew(services, pending, {
    before,
    only: unlessTwin(project_id, twin),
    after: () => insertHeldPaths(project_id, row.id, pathsOf(row)),
    events: [submittedEvent(pending, caller)],
  });
  if (held) {
    context.deadlines.schedule(firstNotice({ ...pending, events: [] }) ?? expires_at);
    return { row: await noteConflicts(services, held, pathsOf(row)), image: null };
  }
  const open = await findTwin(ledger, twin);
  // If the twin was decided in between, this submission is a new one.
  return open ? { row: open, image: null } : await hold(context, entry, evaluation);
}

/** Another submission is a twin of this one if it matches this query. */
function twinOf(
  { services }: ActionContext,
  row: NewRow,
  { limits }: ActionEvaluation,
): TwinQuery {
  // A host repeats its call until a person has answered, however long that takes.
  const attach_ms = row.plan?.native ? limits.approvalTimeoutSeconds * 1000 : TWIN_MS;
  const since = timestamp(services.environment, -attach_ms);
  return { session_id: row.session_id, digest: row.digest, since };
}

/** Inserts an allowed action and executes it, if the gate executes it. Null if `only` did not hold. */
async function proceed(context: ActionContext, entry: Entry): Promise<Submission | null> {
  const { row } = entry;
  switch (executorOf(row)) {
    case "gate":
      return toolOf(row.tool).access === "read"
        ? await readNow(context, entry)
        : await executeNow(context, entry);
    case "host":
      return await startAtHost(context, entry);
    case "claimer":
      return await insertDecided(context, entry);
    case "nobody":
      return await insertDecided(context, { ...entry, row: { ...row, execution: "unknown" } });
  }
}

async function executeNow(context: ActionContext, entry: Entry): Promise<Submission | null> {
  const { row, contents, before, only, events = [], caller } = entry;
  const done = await executeNew(context, row, {
    contents,
    before,
    only,
    events: [submittedEvent(row, caller), ...events, decidedEvent(row)],
  });
  return done && { row: done, image: null };
}

/** The host executes the action as soon as it has the answer, and reports the outcome. */
async function startAtHost(context: ActionContext, entry: Entry): Promise<Submission | null> {
  const { services } = context;
  const { row, caller } = entry;
  const claim = {
    claim_id: newClaim(services, row),
    claimed_by: row.plan?.native?.key ?? "",
    started_at: timestamp(services.environment),
  };
  const running = { ...row, ...claim, execution: "running" as const };
  context.deadlines.soon();
  const data = { claimed_by: claim.claimed_by, ...await beginGuarding(services, running) };
  const started = eventOf(running, "action.started", actorOf(caller, row.agent), data);
  let submission: Submission | null = null;
  try {
    submission = await insertDecided(context, { ...entry, row: running }, [started]);
  } finally {
    if (!submission) await withdrawGuarding(services, running);
  }
  return submission;
}

async function readNow(context: ActionContext, entry: Entry): Promise<Submission | null> {
  const { row } = entry;
  const image = await readImage(row.plan!.accesses[0]!.target.real, MAX_READ_BYTES);
  const error = unreadable(row.path, image);
  const execution = error === null ? "succeeded" as const : "failed" as const;
  const read = {
    ...row,
    execution,
    error,
    after_sha256: image?.sha256 ?? null,
    bytes: image?.bytes ?? null,
    finished_at: timestamp(context.services.environment),
  };
  const finished = eventOf(read, "action.finished", BY_SYSTEM, { execution, error });
  const submission = await insertDecided(context, { ...entry, row: read }, [finished]);
  return submission && { ...submission, image };
}

/** Commits an action that policy has decided on. Null if `only` did not hold. */
async function insertDecided(
  { services }: ActionContext,
  { row, caller, before, only, events = [] }: Entry,
  later: NewEvent[] = [],
): Promise<Submission | null> {
  const inserted = await insertNew(services, row, {
    before,
    only,
    events: [submittedEvent(row, caller), ...events, decidedEvent(row), ...later],
  });
  return inserted && { row: inserted, image: null };
}

/** The fields that a decision of policy sets. */
function decidedByPolicy({ services }: ActionContext, status: "approved" | "blocked") {
  return { status, decided_at: timestamp(services.environment), decided_by: "policy" };
}

function submittedEvent(row: NewRow, caller: Caller): NewEvent {
  const { tool, path, command, cwd, digest, decision, risk, status, replay_of, rollback_of } = row;
  const { effect, rule, reason, sandbox } = decision;
  const outside_because = row.plan && wantsOutside(row.plan);
  const { score, level } = risk;
  const shortened = row.plan?.shortened;
  return eventOf(row, "action.submitted", actorOf(caller, row.agent), {
    ...{ tool, path, command, cwd, digest, replay_of, rollback_of },
    ...shortened && { shortened },
    ...{ status, effect, rule, reason, risk: { score, level } },
    ...sandbox && { sandbox },
    ...outside_because !== null && { outside_because },
    ...row.route && { route: { id: row.route.id, quorum: row.route.quorum } },
  });
}

/** A block has the type of a rejection; the status in the event tells them apart. */
function decidedEvent(row: NewRow): NewEvent {
  const type = row.status === "approved" ? "action.approved" as const : "action.rejected" as const;
  const { status, decision: { rule, reason, grant_id, lease_id, sandbox }, digest } = row;
  const decided = { status, rule, reason, digest, grant_id, ...lease_id && { lease_id } };
  return eventOf(row, type, BY_POLICY, { ...decided, ...sandbox && { sandbox } });
}
