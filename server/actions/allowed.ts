import type { Caller } from "../auth/schema.ts";
import type { NewEvent, Statement } from "../db/ledger.ts";
import { readImage } from "../runtime/file_image.ts";
import { noteConflicts, pathsOf } from "./conflicts/conflicts.ts";
import type { Content } from "./draft.ts";
import type { Entered, Road } from "./enter.ts";
import { MAX_READ_BYTES, perform, unreadable, whileUnderWay } from "./execute.ts";
import { actorOf, BY_POLICY, BY_SYSTEM, eventOf } from "./record.ts";
import type { NewRow } from "./rows.ts";
import { timestamp } from "./services.ts";
import { recordStarted } from "./start.ts";
import { insertAction, toInserted, whereStands } from "./store.ts";

/** Tools that the gate carries out itself. */
const FILE_TOOLS = new Set(["write_file", "edit_file", "delete_file", "move_file", "rollback"]);

/** Whether the gate itself does what is approved; commands are run by whoever holds them. */
export function isDoneHere(tool: string): boolean {
  return FILE_TOOLS.has(tool) || tool === "read_file";
}

/** What an action is committed with; where `only` does not hold, nothing is recorded. */
export interface Commit {
  statements: Statement[];
  events: NewEvent[];
  only?: Statement;
}

/** Who asks for it, with the contents that need not be read from the ledger again. */
export interface By {
  at_hand: readonly Content[];
  caller: Caller;
}

/** Records what is allowed and goes on from there; null where the condition did not hold. */
export async function allow(
  road: Road,
  decided: NewRow,
  commit: Commit,
  by: By,
): Promise<Entered | null> {
  if (decided.tool === "read_file") return await readNow(road, decided, commit, by.caller);
  if (FILE_TOOLS.has(decided.tool)) return await doNow(road, decided, commit, by);
  if (decided.plan?.native) return await begunElsewhere(road, decided, commit, by.caller);
  const execution = decided.tool === "run_command" ? "none" as const : "unknown" as const;
  return await record(road, { ...decided, execution }, commit, by.caller);
}

/** One commit for everything: the start is recorded before the file is touched. */
async function doNow(
  road: Road,
  row: NewRow,
  { statements, only, ...more }: Commit,
  { at_hand, caller }: By,
): Promise<Entered | null> {
  const { services, serial } = road;
  const events = [submittedEvent(row, caller), ...more.events, decidedEvent(row)];
  return await whileUnderWay(road, row.id, async () => {
    road.expiry.soon();
    const { started, intents } = await recordStarted(services, row, statements, { events, only });
    if (!started) return null;
    const done = await serial.run(() => perform(services, started, intents, at_hand));
    if (done.execution !== "succeeded") return { row: done, image: null };
    return { row: await noteConflicts(services, done, pathsOf(row)), image: null };
  });
}

/** Its host does it as soon as it is answered, and reports what came of it. */
async function begunElsewhere(
  road: Road,
  row: NewRow,
  commit: Commit,
  caller: Caller,
): Promise<Entered | null> {
  const { environment } = road.services;
  const claimed_by = row.plan?.native?.key ?? "";
  const start = { claim_id: environment.id(), claimed_by, started_at: timestamp(environment) };
  const begun = { ...row, ...start, execution: "running" as const };
  road.expiry.soon();
  const started = eventOf(begun, "action.started", actorOf(caller, row.agent), { claimed_by });
  return await record(road, begun, commit, caller, [started]);
}

async function readNow(
  road: Road,
  row: NewRow,
  commit: Commit,
  caller: Caller,
): Promise<Entered | null> {
  const { real } = row.plan!.accesses[0]!.target;
  const image = await readImage(real, MAX_READ_BYTES);
  const error = unreadable(row.path, image);
  const done = {
    ...row,
    execution: error === null ? "succeeded" as const : "failed" as const,
    error,
    after_sha256: image?.sha256 ?? null,
    bytes: image?.bytes ?? null,
    finished_at: timestamp(road.services.environment),
  };
  const finished = eventOf(done, "action.finished", BY_SYSTEM, {
    execution: done.execution,
    error,
  });
  const recorded = await record(road, done, commit, caller, [finished]);
  return recorded && { ...recorded, image };
}

/** Records what is decided; null where the condition of the commit did not hold. */
export async function record(
  road: Road,
  row: NewRow,
  { statements, only, events }: Commit,
  caller: Caller,
  more: NewEvent[] = [],
): Promise<Entered | null> {
  const { ledger, project_id } = road.services;
  const { rows } = await ledger.commit({
    statements: [...statements, insertAction(row, only)],
    events: [submittedEvent(row, caller), ...events, decidedEvent(row), ...more],
    ...only && { when: whereStands(project_id, row.id, { decision_id: row.decision_id! }) },
  });
  const inserted = toInserted(row, rows.at(-1)?.[0]);
  return inserted && { row: inserted, image: null };
}

/** What a decision of policy sets. */
export function decidedByPolicy(road: Road, status: "approved" | "blocked") {
  const { environment } = road.services;
  return {
    status,
    decision_id: environment.id(),
    decided_at: timestamp(environment),
    decided_by: "policy",
  };
}

/** What an agent asked for, and what was said to it. */
export function submittedEvent(row: NewRow, caller: Caller): NewEvent {
  const { tool, path, command, cwd, digest, decision, risk, status, replay_of, rollback_of } = row;
  const { effect, rule, reason } = decision;
  const { score, level } = risk;
  const what = { tool, path, command, cwd, digest, replay_of, rollback_of };
  const why = { status, effect, rule, reason, risk: { score, level } };
  return eventOf(row, "action.submitted", actorOf(caller, row.agent), { ...what, ...why });
}

/** Policy blocks what a reviewer would reject: the status in the event tells the two apart. */
function decidedEvent(row: NewRow): NewEvent {
  const type = row.status === "approved" ? "action.approved" as const : "action.rejected" as const;
  const { status, decision: { rule, reason, grant_id }, digest } = row;
  return eventOf(row, type, BY_POLICY, { status, rule, reason, digest, grant_id });
}
