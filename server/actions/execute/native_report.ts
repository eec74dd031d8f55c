import type { Caller } from "../../auth/schema.ts";
import { putBlob } from "../../db/blobs.ts";
import type { Statement } from "../../db/ledger.ts";
import { readImage } from "../../runtime/file_image.ts";
import { type Content, keepContents, MAX_CALL_BYTES, MAX_IN_MEMORY } from "../contents.ts";
import { type ActionServices, loadAction, messageOf, timestamp } from "../context.ts";
import type { AskedHost } from "../../sandbox/schema.ts";
import type { HeldBack, PlannedChange } from "../plan.ts";
import { type ActionRow, type Fields, listRunningOf } from "../store.ts";
import { changesIn } from "../effects/outcome.ts";
import { stateOf } from "../submit/plan_action.ts";
import { type Actor, actorOf, BY_SYSTEM, transition } from "../transition.ts";
import { endGuarding, withGuarded } from "../guarding/project_guard.ts";
import type { Restored } from "../guarding/restore.ts";
import { capOutput, withAsked } from "./command.ts";
import { insertIntents, settleIntents } from "./intents_store.ts";
import { endWalls } from "./walled.ts";

/** The host's report on a call of its own tool. */
export interface NativeOutcome {
  failed: boolean;
  exit_code: number | null;
  output: string | null;
  error: string | null;
  duration_ms: number | null;
}

/** Identifies a call: by the host's own name for it, else by tool and input. */
export interface NativeCallId {
  session_id: string;
  tool: string;
  input_sha256: string;
  key: string | null;
}

/** The end of a call of a host's own tool. */
export interface NativeEnd {
  /** Null if nobody reported it. */
  outcome: NativeOutcome | null;
  by: Actor;
  /** The decision as it was carried out, if it was carried out otherwise than decided. */
  decision?: ActionRow["decision"];
  /** The files that were moved away after the command. */
  removed?: Restored[];
  /** The state of its changes, if they were held back. */
  held_back?: HeldBack;
  /** The hosts that the command asked for in the sandbox. */
  asked_hosts?: AskedHost[];
}

/**
 * Records a host's report and reads the changed files. Returns null if no such call is running, or
 * if it runs in the sandbox: then its own process reports. `is_bare` tells that the host ran a
 * command outside the sandbox that belonged into it.
 */
export async function reportNative(
  services: ActionServices,
  call: NativeCallId,
  { outcome, is_bare }: { outcome: NativeOutcome; is_bare: (id: string) => boolean },
  caller: Caller,
): Promise<ActionRow | null> {
  const running = (await listRunningOf(services.ledger, call.session_id)).filter(isOf(call));
  const row = running.find(({ id }) => !services.sandboxes.lanes.holds(id));
  if (!row) return null;
  const by = actorOf(caller, row.agent);
  if (!is_bare(row.id)) return await finishNative(services, row, { outcome, by });
  const error = "Its host ran it outside the sandbox: it did not take the command of gate";
  const decision = { ...row.decision, sandbox: null };
  return await finishNative(services, row, {
    ...{ by, decision },
    outcome: { ...outcome, failed: true, error },
  });
}

/** Finishes a call that its host did not report: its files show the outcome, a command's is unknown. */
export async function recoverNative(
  services: ActionServices,
  { id }: ActionRow,
  { only_if_changed = false } = {},
): Promise<ActionRow> {
  const row = await loadAction(services, id);
  if (row.execution !== "running") return row;
  const found = await readChanges(services, row.plan!.changes);
  if (only_if_changed && !found.is_changed) return row;
  const removed = await endWalls(services, row);
  return await finishNative(services, row, { outcome: null, by: BY_SYSTEM, removed });
}

/** Finishes the calls of a session that changed their files and were not reported. */
export async function recoverSession(services: ActionServices, session_id: string): Promise<void> {
  for (const row of await listRunningOf(services.ledger, session_id)) {
    if (row.plan?.native) await recoverNative(services, row, { only_if_changed: true });
  }
}

function isOf({ key, tool, input_sha256 }: NativeCallId) {
  return (row: ActionRow) => {
    if (!row.plan?.native) return false;
    // Codex reports a patch inside a command under another tool name.
    if (key !== null && row.claimed_by) return row.claimed_by === key;
    return row.tool === tool && row.plan.input_sha256 === input_sha256;
  };
}

/** Records the end of a call of a host's own tool, with the files as they are now. */
export async function finishNative(
  services: ActionServices,
  row: ActionRow,
  { outcome, by, decision, removed = [], held_back, asked_hosts = [] }: NativeEnd,
): Promise<ActionRow> {
  const { lanes } = services.sandboxes;
  await services.sandboxes.dropCopy(row.id);
  const restored = [...await endGuarding(services, row), ...removed];
  if (!lanes.holds(row.id)) lanes.end(row.id);
  const found = await readChanges(services, row.plan!.changes);
  const finished_at = timestamp(services.environment);
  const result = resultOf(row, outcome, found);
  const output = await outputOf(services, outcome, finished_at);
  services.intake.count(row.session_id, [...found.contents, ...output.contents]);
  const isDone = result.execution === "succeeded";
  const hasAsked = asked_hosts.length > 0;
  const held = held_back && { plan: { ...row.plan!, held_back } };
  const files = { fields: { ...held, ...fileFields(row, found) } };
  const finished = await transition(services, row, {
    // After its time-out the outcome counts as unknown until the host reports after all.
    from: { execution: ["running", "unknown"], claim_id: row.claim_id ?? "" },
    to: {
      ...result,
      ...output.fields,
      ...decision && { decision },
      finished_at,
      ...withGuarded(row, hasAsked ? withAsked(row, files, asked_hosts) : files, restored).fields,
    },
    by,
    type: "action.finished",
    why: {
      ...result,
      sha256: found.changes[0]?.after?.sha256 ?? null,
      changes: changesIn({ ...row, ...files.fields }),
      ...decision && { sandbox: decision.sandbox },
      ...hasAsked && { asked_hosts },
    },
    before: [...await keepContents(services, found.contents), ...output.statements],
    after: (changed) => isDone ? doneIntents(services, row, found, { changed, finished_at }) : [],
  });
  return finished ?? await loadAction(services, row.id);
}

function fileFields(row: ActionRow, { changes }: Found): Fields {
  const [change] = changes;
  if (!change) return {};
  const after_sha256 = change.after?.sha256 ?? null;
  return { plan: { ...row.plan!, changes }, after_sha256, bytes: change.after?.bytes ?? null };
}

function resultOf(row: ActionRow, outcome: NativeOutcome | null, { is_changed, problem }: Found) {
  const { exit_code = null, duration_ms = null } = outcome ?? {};
  const result = { exit_code, duration_ms };
  if (problem !== null) return { ...result, execution: "unknown" as const, error: problem };
  const isFile = row.plan!.changes.length > 0;
  if (outcome === null) {
    if (is_changed) return { ...result, execution: "succeeded" as const, error: null };
    const error = isFile ? "Its host has not executed it" : "Its host has not reported the outcome";
    return { ...result, execution: isFile ? "failed" as const : "unknown" as const, error };
  }
  const error = outcome.error?.slice(0, 4_000).toWellFormed() ?? null;
  if (!outcome.failed) return { ...result, execution: "succeeded" as const, error: null };
  if (!is_changed) return { ...result, execution: "failed" as const, error };
  // Changed files must stay available for a rollback, so the action counts as succeeded.
  const why = `Its host reports a failure, but files were changed: ${error ?? "no reason given"}`;
  return { ...result, execution: "succeeded" as const, error: why.slice(0, 4_000) };
}

/** The files of a call as they are now. */
interface Found {
  changes: PlannedChange[];
  contents: Content[];
  is_changed: boolean;
  /** Why a file cannot be read; null if all can. */
  problem: string | null;
}

async function readChanges(services: ActionServices, planned: PlannedChange[]): Promise<Found> {
  const { maxBlobBytes } = (await services.config.inForce()).compiled.limits;
  const found: Found = { changes: [], contents: [], is_changed: false, problem: null };
  let left = MAX_CALL_BYTES;
  for (const { guessed: _guessed, ...change } of planned) {
    try {
      const { path } = change;
      const image = await readImage(path, Math.min(MAX_IN_MEMORY, maxBlobBytes, left));
      left -= image?.content?.length ?? 0;
      const after = image && stateOf(image);
      found.changes.push({ ...change, after });
      found.is_changed ||= (after?.sha256 ?? null) !== (change.before?.sha256 ?? null);
      if (image && image.bytes <= maxBlobBytes) {
        const { sha256, bytes, content } = image;
        found.contents.push({ sha256, content: content ?? { path, bytes } });
      }
    } catch (error) {
      found.changes.push(change);
      found.problem = messageOf(error);
    }
  }
  return found;
}

/** Settled intents: later queries find the changes of a file by them. */
function doneIntents(
  { project_id, environment }: ActionServices,
  row: ActionRow,
  { changes }: Found,
  { changed, finished_at }: { changed: Statement; finished_at: string },
): Statement[] {
  const { new_folders } = row.plan!.native!;
  const made = changes.findIndex(({ before }) => before === null);
  const intents = changes.map(({ path, before, after }, i) => {
    return {
      id: environment.id(),
      action_id: row.id,
      path,
      before_sha256: before?.sha256 ?? null,
      after_sha256: after?.sha256 ?? null,
      state: "done" as const,
      data: {
        mode: after?.mode ?? null,
        before_mode: before?.mode ?? null,
        temporary: "",
        new_folders: i === made ? new_folders : [],
      },
    };
  });
  const started = { ...row, started_at: row.started_at ?? finished_at };
  return [
    ...insertIntents(project_id, started, intents, changed),
    ...settleIntents(project_id, intents, finished_at),
  ];
}

async function outputOf(services: ActionServices, outcome: NativeOutcome | null, at: string) {
  if (outcome === null || outcome.output === null) {
    return { statements: [], contents: [], fields: {} };
  }
  const { bytes, truncated } = await capOutput(services, outcome.output);
  const { statements, sha256 } = await putBlob(bytes, { project_id: services.project_id, at });
  await services.contents.use([{ sha256 }]);
  const fields = { output_sha256: sha256, output_truncated: truncated };
  return { statements, contents: [{ sha256, content: bytes }], fields };
}
