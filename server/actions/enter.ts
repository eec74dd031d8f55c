import type { Caller } from "../auth/schema.ts";
import type { NewEvent, Statement } from "../db/ledger.ts";
import { GateError } from "../errors.ts";
import type { Session } from "../sessions/schema.ts";
import { type FileImage, readImage } from "../runtime/files.ts";
import { keepContents } from "./contents.ts";
import { type Content, drawUp } from "./draft.ts";
import { type Executor, MAX_READ_BYTES, perform, unreadable, whileUnderWay } from "./execute.ts";
import type { Expiry } from "./expiry.ts";
import { judge, type Judgement } from "./judge.ts";
import type { Asked } from "./plan.ts";
import { actorOf, BY_POLICY, BY_SYSTEM, eventOf } from "./record.ts";
import { blockedDraft, type NewRow, rowOf, type RowParts } from "./rows.ts";
import { timestamp } from "./services.ts";
import { recordStarted } from "./start.ts";
import {
  type ActionRow,
  countPending,
  findTwin,
  insertAction,
  toRow,
  unlessTwin,
  whereStands,
} from "./store.ts";

/** What the verbs of one project share. */
export interface Road extends Executor {
  expiry: Expiry;
}

/** An action after its submission; a read that was allowed at once comes with what was read. */
export interface Entered {
  row: ActionRow;
  image: FileImage | null;
}

/** How long an identical call attaches to the one that is still open. */
const TWIN_MS = 10 * 60_000;

/** More than any person looks through; an agent that goes on is told to wait. */
const MAX_PENDING = 2_000;

/** Tools that the gate carries out itself. */
const FILE_TOOLS = new Set(["write_file", "edit_file", "delete_file", "move_file", "rollback"]);

/** Whether the gate itself does what is approved; commands are run by whoever holds them. */
export function isDoneHere(tool: string): boolean {
  return FILE_TOOLS.has(tool) || tool === "read_file";
}

/** What enters the road: an input understood, with the session it belongs to. */
export interface Entering {
  session: Session;
  asked: Asked;
  bytes: Uint8Array | null;
  /** The input as it came. */
  input: Record<string, unknown>;
  caller: Caller;
  replay_of?: string;
}

/** The check stands here, so that no tool can forget it. */
export async function enterAsked(road: Road, entering: Entering): Promise<Entered> {
  const { services } = road;
  const { session, asked, bytes, input, caller, replay_of } = entering;
  const judgement = await judge(services, asked, input);
  const { decision, analysis, limits } = judgement;
  const isDenied = decision.effect === "deny";
  const draft = isDenied ? blockedDraft(asked) : await drawUp(asked, bytes, analysis, limits);
  return await enter(road, judgement, caller, { session, decision, analysis, draft, replay_of });
}

/** Records an action with the decision of policy, in one commit, and goes on from there. */
export async function enter(
  road: Road,
  judgement: Judgement,
  caller: Caller,
  parts: RowParts,
): Promise<Entered> {
  const row = rowOf(road.services, parts);
  const { effect } = judgement.decision;
  if (effect === "ask") await requireRoom(road);
  const contents = await keepContents(road.services, parts.draft.contents);
  if (effect === "ask") return await hold(road, row, contents, judgement, caller);
  const decided = { ...row, ...decidedByPolicy(road, effect === "allow" ? "approved" : "blocked") };
  if (effect === "deny") return await record(road, { ...decided, reversible: false }, [], caller);
  if (decided.tool === "read_file") return await readNow(road, decided, caller);
  if (FILE_TOOLS.has(decided.tool)) {
    return await doNow(road, decided, { contents, at_hand: parts.draft.contents }, caller);
  }
  const execution = decided.tool === "run_command" ? "none" as const : "unknown" as const;
  return await record(road, { ...decided, execution }, contents, caller);
}

/** @throws GateError `rate_limited` */
async function requireRoom({ services }: Road): Promise<void> {
  if (await countPending(services.ledger) < MAX_PENDING) return;
  const message = `Cannot hold the action: ${MAX_PENDING} wait for a person already; ` +
    "cancel some of yours or wait until they are decided";
  throw new GateError("rate_limited", message);
}

async function hold(
  road: Road,
  row: NewRow,
  contents: Statement[],
  judgement: Judgement,
  caller: Caller,
): Promise<Entered> {
  const { ledger, project_id, environment } = road.services;
  const deadline = timestamp(environment, judgement.limits.approvalTimeoutSeconds * 1000);
  const decision_id = environment.id();
  const pending = { ...row, expires_at: deadline, decision_id };
  const since = timestamp(environment, -TWIN_MS);
  const twin = { agent: row.agent, digest: row.digest, since };
  const { rows } = await ledger.commit({
    statements: [...contents, insertAction(pending, unlessTwin(project_id, twin))],
    events: [submittedEvent(pending, caller)],
    when: whereStands(project_id, row.id, { decision_id }),
  });
  const inserted = rows.at(-1)?.[0];
  if (inserted) {
    road.expiry.schedule(deadline);
    return { row: toRow(inserted), image: null };
  }
  const open = await findTwin(ledger, twin);
  // Decided in the blink between the two: then this call is a new one after all.
  return open ? { row: open, image: null } : await hold(road, row, contents, judgement, caller);
}

/** One commit for everything: the start is recorded before the file is touched. */
async function doNow(
  road: Road,
  row: NewRow,
  { contents, at_hand }: { contents: Statement[]; at_hand: readonly Content[] },
  caller: Caller,
): Promise<Entered> {
  const { services, serial } = road;
  const events = [submittedEvent(row, caller), decidedEvent(row)];
  return await whileUnderWay(road, row.id, async () => {
    road.expiry.soon();
    const { started, intents } = await recordStarted(services, row, contents, { events });
    const done = await serial.run(() => perform(services, started!, intents, at_hand));
    return { row: done, image: null };
  });
}

async function readNow(road: Road, row: NewRow, caller: Caller): Promise<Entered> {
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
  const { row: recorded } = await record(road, done, [], caller, [finished]);
  return { row: recorded, image };
}

async function record(
  road: Road,
  row: NewRow,
  contents: Statement[],
  caller: Caller,
  more: NewEvent[] = [],
): Promise<Entered> {
  const { rows } = await road.services.ledger.commit({
    statements: [...contents, insertAction(row)],
    events: [submittedEvent(row, caller), decidedEvent(row), ...more],
  });
  return { row: toRow(rows[contents.length]![0]!), image: null };
}

function decidedByPolicy(road: Road, status: "approved" | "blocked") {
  const { environment } = road.services;
  return {
    status,
    decision_id: environment.id(),
    decided_at: timestamp(environment),
    decided_by: "policy",
  };
}

function submittedEvent(row: NewRow, caller: Caller): NewEvent {
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
  const { status, decision: { rule, reason }, digest } = row;
  return eventOf(row, type, BY_POLICY, { status, rule, reason, digest });
}
