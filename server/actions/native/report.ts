import type { Caller } from "../../auth/schema.ts";
import { putBlob } from "../../db/blobs.ts";
import type { NewEvent, Statement } from "../../db/ledger.ts";
import { readImage } from "../../runtime/file_image.ts";
import { capped } from "../command.ts";
import { keepContents } from "../contents.ts";
import { type Content, MAX_IN_MEMORY } from "../draft.ts";
import { MAX_HELD } from "./draw.ts";
import type { Executor } from "../execute.ts";
import { insertIntents, settleIntents } from "../journal/store.ts";
import type { PlannedChange } from "../plan.ts";
import { actorOf, BY_SYSTEM, eventOf, loadAction } from "../record.ts";
import { type ActionServices, timestamp } from "../services.ts";
import {
  type ActionRow,
  type Fields,
  listRunningOf,
  toRow,
  updateAction,
  whereStands,
} from "../store.ts";

/** What a host says came of a call of its own tool. */
export interface NativeOutcome {
  failed: boolean;
  exit_code: number | null;
  output: string | null;
  error: string | null;
  duration_ms: number | null;
}

/** Which call it was: by the host's own name for it, else by tool and input. */
export interface NativeCallId {
  session_id: string;
  tool: string;
  input_sha256: string;
  key: string | null;
}

/** Records what came of a call, files by looking at them; null where no such call is under way. */
export async function reportNative(
  executor: Executor,
  which: NativeCallId,
  outcome: NativeOutcome,
  caller: Caller,
): Promise<ActionRow | null> {
  const { services } = executor;
  const running = (await listRunningOf(services.ledger, which.session_id)).filter(isMeant(which));
  const row = running[0];
  if (!row) return null;
  return await finish(services, row, outcome, actorOf(caller, row.agent));
}

/** Settles what its host has not reported: a file tells itself, of a command nobody knows. */
export async function settleNative(
  executor: Executor,
  left: ActionRow,
  { only_if_done = false } = {},
): Promise<ActionRow> {
  const { services } = executor;
  const row = await loadAction(services, left.id);
  if (row.execution !== "running") return row;
  const looked = await lookAt(services, row.plan!.changes);
  if (only_if_done && !looked.is_changed) return row;
  return await finish(services, row, null, BY_SYSTEM);
}

/** Settles what a session's host has done and not reported: it can be seen in the files. */
export async function settleDone(executor: Executor, session_id: string): Promise<void> {
  for (const row of await listRunningOf(executor.services.ledger, session_id)) {
    if (row.plan?.native) await settleNative(executor, row, { only_if_done: true });
  }
}

function isMeant({ key, tool, input_sha256 }: NativeCallId) {
  return (row: ActionRow) => {
    if (!row.plan?.native) return false;
    // Codex calls a patch in a command by another name when it reports it.
    if (key !== null && row.claimed_by) return row.claimed_by === key;
    return row.tool === tool && row.plan.input_sha256 === input_sha256;
  };
}

async function finish(
  services: ActionServices,
  row: ActionRow,
  outcome: NativeOutcome | null,
  actor: NewEvent["actor"],
): Promise<ActionRow> {
  const { ledger, project_id, environment } = services;
  const looked = await lookAt(services, row.plan!.changes);
  const stamp = { claim_id: environment.id(), finished_at: timestamp(environment) };
  const said = saidOf(row, outcome, looked);
  const output = await outputOf(services, outcome, stamp.finished_at);
  const kept = [...await keepContents(services, looked.contents), ...output.statements];
  const fields = { ...said, ...output.fields, ...stamp, ...filesOf(row, looked) };
  const isDone = said.execution === "succeeded";
  const { rows } = await ledger.commit({
    statements: [
      ...kept,
      updateAction(project_id, row.id, fields, {
        // After its time it counts as unknown, until the host reports it after all.
        execution: ["running", "unknown"],
        claim_id: row.claim_id ?? "",
      }),
      ...(isDone ? intentsOf(services, row, looked, stamp) : []),
    ],
    events: [eventOf(row, "action.finished", actor, {
      ...said,
      sha256: looked.changes[0]?.after?.sha256 ?? null,
    })],
    when: whereStands(project_id, row.id, { claim_id: stamp.claim_id }),
  });
  const finished = rows[kept.length]?.[0];
  return finished ? toRow(finished) : await loadAction(services, row.id);
}

function filesOf(row: ActionRow, { changes }: Looked): Fields {
  const [change] = changes;
  if (!change) return {};
  const after_sha256 = change.after?.sha256 ?? null;
  return { plan: { ...row.plan!, changes }, after_sha256, bytes: change.after?.bytes ?? null };
}

function saidOf(row: ActionRow, outcome: NativeOutcome | null, { is_changed, problem }: Looked) {
  const { exit_code = null, duration_ms = null } = outcome ?? {};
  const result = { exit_code, duration_ms };
  if (problem !== null) return { ...result, execution: "unknown" as const, error: problem };
  const isFile = row.plan!.changes.length > 0;
  if (outcome === null) {
    if (is_changed) return { ...result, execution: "succeeded" as const, error: null };
    const error = isFile
      ? "Its host has not carried it out"
      : "Its host has not reported what came of it";
    return { ...result, execution: isFile ? "failed" as const : "unknown" as const, error };
  }
  const error = outcome.error?.slice(0, 4_000).toWellFormed() ?? null;
  if (!outcome.failed) return { ...result, execution: "succeeded" as const, error: null };
  if (!is_changed) return { ...result, execution: "failed" as const, error };
  // What was changed can be rolled back, whatever its host thinks of it.
  const why = `Its host calls it failed, but files were changed: ${error ?? "no reason given"}`;
  return { ...result, execution: "succeeded" as const, error: why.slice(0, 4_000) };
}

interface Looked {
  changes: PlannedChange[];
  contents: Content[];
  is_changed: boolean;
  problem: string | null;
}

/** What stands there now: only the host knew what it would make of it. */
async function lookAt(services: ActionServices, planned: PlannedChange[]): Promise<Looked> {
  const { maxBlobBytes } = (await services.config.inForce()).compiled.limits;
  const looked: Looked = { changes: [], contents: [], is_changed: false, problem: null };
  let left = MAX_HELD;
  for (const { guessed: _guessed, ...change } of planned) {
    try {
      const { path } = change;
      const image = await readImage(path, Math.min(MAX_IN_MEMORY, maxBlobBytes, left));
      left -= image?.content?.length ?? 0;
      const after = image && { sha256: image.sha256, bytes: image.bytes, mode: image.mode };
      looked.changes.push({ ...change, after });
      looked.is_changed ||= (after?.sha256 ?? null) !== (change.before?.sha256 ?? null);
      if (image && image.bytes <= maxBlobBytes) {
        const { sha256, bytes, content } = image;
        looked.contents.push({ sha256, content: content ?? { path, bytes } });
      }
    } catch (error) {
      looked.changes.push(change);
      looked.problem = error instanceof Error ? error.message : String(error);
    }
  }
  return looked;
}

/** Kept as done: later actions on the same file are found by them. */
function intentsOf(
  { project_id, environment }: ActionServices,
  row: ActionRow,
  { changes }: Looked,
  { claim_id, finished_at }: { claim_id: string; finished_at: string },
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
  const created_at = row.started_at ?? finished_at;
  const of = { action_id: row.id, digest: row.digest, claim_id, created_at };
  return [
    ...insertIntents(project_id, intents, of),
    ...settleIntents(project_id, intents, finished_at),
  ];
}

async function outputOf(services: ActionServices, outcome: NativeOutcome | null, at: string) {
  if (outcome === null || outcome.output === null) return { statements: [], fields: {} };
  const { bytes, truncated } = await capped(services, outcome.output);
  const { statements, sha256 } = await putBlob(bytes, { project_id: services.project_id, at });
  return { statements, fields: { output_sha256: sha256, output_truncated: truncated } };
}
