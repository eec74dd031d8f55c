import type { Caller } from "../auth/schema.ts";
import type { Statement } from "../db/ledger.ts";
import { GateError } from "../errors.ts";
import type { FileImage } from "../runtime/file_image.ts";
import type { Session } from "../sessions/schema.ts";
import { allow, type By, decidedByPolicy, record, submittedEvent } from "./allowed.ts";
import { noteConflicts, pathsOf } from "./conflicts/conflicts.ts";
import { insertHeldPaths } from "./conflicts/store.ts";
import { keepContents } from "./contents.ts";
import { drawUp } from "./draft.ts";
import type { Executor } from "./execute.ts";
import type { Expiry } from "./expiry.ts";
import { findUse } from "./granted.ts";
import { judge, type Judgement } from "./judge.ts";
import type { Asked } from "./plan.ts";
import { blockedDraft, type NewRow, rowOf, type RowParts } from "./rows.ts";
import type { Serial } from "./serial.ts";
import { timestamp } from "./services.ts";
import {
  type ActionRow,
  countPending,
  findTwin,
  insertAction,
  toInserted,
  type TwinQuery,
  unlessTwin,
  whereStands,
} from "./store.ts";

/** What the verbs of one project share. */
export interface Road extends Executor {
  expiry: Expiry;
  /** Uses of grants are taken one after the other. */
  granting: Serial;
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
  const wanted = { asked, content: bytes, analysis, limits };
  const draft = isDenied ? blockedDraft(asked) : await drawUp(services, session.root, wanted);
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
  if (effect === "deny") {
    const blocked = { ...row, ...decidedByPolicy(road, "blocked"), ...IRREVERSIBLE };
    return (await record(road, blocked, { statements: [], events: [] }, caller))!;
  }
  const by = { at_hand: parts.draft.contents, caller };
  if (effect === "ask") return await ask(road, row, judgement, by);
  const statements = await keepContents(road.services, parts.draft.contents);
  const decided = { ...row, ...decidedByPolicy(road, "approved") };
  return (await allow(road, decided, { statements, events: [] }, by))!;
}

/** A remembered decision answers, or a person is asked. */
async function ask(road: Road, row: NewRow, judgement: Judgement, by: By): Promise<Entered> {
  const { services } = road;
  const granted = await findUse(services, row, judgement)
    ? await enterGranted(road, row, judgement, by)
    : null;
  if (granted) return granted;
  await requireRoom(road);
  const contents = await keepContents(services, by.at_hand);
  return await hold(road, row, contents, judgement, by.caller);
}

/** How often a use that somebody else has taken is looked for again. */
const MOST_TRIES = 100;

/** One action after the other takes its use: that and what it allows are one commit. */
async function enterGranted(
  road: Road,
  row: NewRow,
  judgement: Judgement,
  by: By,
): Promise<Entered | null> {
  const { services, granting } = road;
  const open = await findTwin(services.ledger, twinOf(road, row, judgement));
  // Approved already, and its agent has lost sight of it: no use is taken for that.
  if (open?.status === "approved") return { row: open, image: null };
  const contents = await keepContents(services, by.at_hand);
  return await granting.run(async () => {
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const use = await findUse(services, row, judgement);
      if (!use) return null;
      const { decision, take, only, event } = use;
      const decided = { ...row, ...decidedByPolicy(road, "approved"), decision };
      const commit = { statements: [...contents, take], events: [event], only };
      const entered = await allow(road, decided, commit, by);
      if (entered) return entered;
    }
    return null;
  });
}

/** Nothing was done, so nothing can be undone. */
const IRREVERSIBLE = { reversible: false, reversibility: null };

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
  const twin = twinOf(road, row, judgement);
  const { rows } = await ledger.commit({
    statements: [
      ...contents,
      insertAction(pending, unlessTwin(project_id, twin)),
      ...insertHeldPaths(project_id, row.id, pathsOf(row)),
    ],
    events: [submittedEvent(pending, caller)],
    when: whereStands(project_id, row.id, { decision_id }),
  });
  const inserted = toInserted(pending, rows[contents.length]?.[0]);
  if (inserted) {
    road.expiry.schedule(deadline);
    const held = await noteConflicts(road.services, inserted, pathsOf(row));
    return { row: held, image: null };
  }
  const open = await findTwin(ledger, twin);
  // Decided in the blink between the two: then this call is a new one after all.
  return open ? { row: open, image: null } : await hold(road, row, contents, judgement, caller);
}

/** What makes another call the same as this one. */
function twinOf({ services }: Road, row: NewRow, { limits }: Judgement): TwinQuery {
  // A host asks again in its own time: as long as a person may take, their answer stands.
  const attach_ms = row.plan?.native ? limits.approvalTimeoutSeconds * 1000 : TWIN_MS;
  const since = timestamp(services.environment, -attach_ms);
  return { agent: row.agent, digest: row.digest, since };
}
