import type { Caller } from "../auth/schema.ts";
import { GateError } from "../errors.ts";
import { type FileImage, readImage } from "../runtime/file_image.ts";
import { shownText, textOf } from "./contents.ts";
import { approveDraft } from "./approve_draft.ts";
import { loadPending } from "./decide.ts";
import { type After, draftOf, drawUp, MAX_IN_MEMORY, newState } from "./draft.ts";
import { editText } from "./edit_text.ts";
import type { Road } from "./enter.ts";
import type { EditFileInput } from "./inputs/schema.ts";
import { mergeTexts, unifiedDiff } from "./merge.ts";
import type { PlannedChange } from "./plan.ts";
import { judge } from "./judge.ts";
import { checkPlaces, checkTargets, type Look } from "./recheck.ts";
import { notPossible, requireReviewer } from "./record.ts";
import type { ActionDetail, ApproveInput } from "./schema.ts";
import type { ActionServices } from "./services.ts";
import type { ActionRow } from "./store.ts";

/** A held change on top of what stands in its file by now. */
export interface Rebased {
  change: PlannedChange;
  now: FileImage | null;
  /** Null where nobody can say what would be done, and a person has to. */
  how: "reapplied" | "merged" | null;
  /** What would be written; null where nothing is. */
  after: After | null;
}

const WRITES = new Set(["write_file", "edit_file"]);
/** What they do is said by names alone, whatever stands there. */
const BY_NAME = new Set(["delete_file", "move_file"]);

/** What became of the ground of a held change of a file; null where it is as it was. */
export async function rebase(
  services: ActionServices,
  row: ActionRow,
  look: Look = readImage,
): Promise<Rebased | null> {
  // Of a move, what is moved.
  const change = row.plan?.changes.at(-1);
  const isKnown = WRITES.has(row.tool) || BY_NAME.has(row.tool);
  if (row.status !== "pending" || !change || !isKnown || row.plan?.native) return null;
  const now = await look(change.path, MAX_IN_MEMORY).catch(() => undefined);
  if (now === undefined || (now?.sha256 ?? null) === (change.before?.sha256 ?? null)) return null;
  if (BY_NAME.has(row.tool)) return { change, now, how: now && "reapplied", after: null };
  const text = now?.content ? textOf(now.content) : null;
  const found = text === null ? null : await onTopOf(services, row, change, text);
  if (found === null) return { change, now, how: null, after: null };
  const after = newState(new TextEncoder().encode(found), change.after?.mode ?? null);
  return { change, now, how: row.tool === "edit_file" ? "reapplied" : "merged", after };
}

async function onTopOf(
  services: ActionServices,
  row: ActionRow,
  { before, after }: PlannedChange,
  now: string,
): Promise<string | null> {
  if (row.tool === "edit_file") return reapplied(row, now);
  if (!before || !after) return null;
  const base = await shownText(services, before.sha256);
  const asked = await shownText(services, after.sha256);
  return base === null || asked === null ? null : mergeTexts(base, asked, now);
}

function reapplied(row: ActionRow, now: string): string | null {
  try {
    return editText(now, (row.plan!.input as EditFileInput).edits, MAX_IN_MEMORY);
  } catch {
    return null; // what it looks for is gone, or stands there twice
  }
}

/** For the card: what has changed in the file, what would be written now, and what can be done. */
export async function describeBase(
  services: ActionServices,
  row: ActionRow,
): Promise<ActionDetail["base"]> {
  const rebased = await rebase(services, row, (path, keep) => services.seen.look(path, keep));
  if (!rebased) return null;
  const { change: { before, shown }, now, how, after } = rebased;
  const was = before ? await shownText(services, before.sha256) : "";
  const is = now ? now.content && textOf(now.content) : "";
  const next = after ? textOf(new Uint8Array(after.content!)) : null;
  return {
    was_sha256: before?.sha256 ?? null,
    now_sha256: now?.sha256 ?? null,
    diff: was === null || is === null ? null : unifiedDiff(shown, was, is),
    rebased: how && {
      how,
      sha256: after?.state.sha256 ?? null,
      text: next,
      diff: next === null || is === null ? null : unifiedDiff(shown, is, next),
    },
    next: nextOf(row, rebased),
  };
}

function nextOf({ tool }: ActionRow, { how }: Rebased): string {
  if (how) return "Approve it on what stands there now (gate approve --rebase), or reject it";
  if (BY_NAME.has(tool)) return "Its file is gone: reject it and let the agent try again";
  return "It does not fit what stands there now: approve an edited version in gate " +
    "dashboard, or reject it and let the agent try again";
}

/** Approves a held change on top of what stands in the file now, which the reviewer has seen. */
export async function approveRebased(
  road: Road,
  id: string,
  input: ApproveInput & { base_sha256: string | null },
  caller: Caller,
): Promise<ActionRow> {
  requireReviewer(caller, "approve");
  const row = await loadPending(road, id, "approve", input.expected_digest);
  const rebased = await onSeenBase(road.services, row, input.base_sha256);
  if (BY_NAME.has(row.tool)) return await approveAgain(road, row, input, caller);
  if (rebased.after) {
    return await approveOn(road, row, { rebased, after: rebased.after, input, caller });
  }
  const why = "it does not fit what stands in the file now; " +
    "use approve-with-edit (Edit in gate dashboard), or reject it";
  throw notPossible(row, "approve", why);
}

/** The same, asked of what stands there now. @throws GateError where that cannot be done at all */
async function approveAgain(
  road: Road,
  row: ActionRow,
  input: ApproveInput & { base_sha256: string | null },
  caller: Caller,
): Promise<ActionRow> {
  checkTargets(row.plan!);
  await checkPlaces(row.plan!);
  const judgement = await judge(road.services, row.plan!);
  const { analysis, limits } = judgement;
  const asked = { asked: row.plan!, content: null, analysis, limits };
  const draft = await drawUp(road.services, row.root, asked);
  if (draft.plan.changes.at(-1)?.before?.sha256 !== input.base_sha256) {
    throw changedAgain(row, input);
  }
  return await approveDraft(road, row, { draft, judgement, input, caller });
}

/** Approves this content in place of a held one, on top of what stands in the file now. */
export async function approveOn(
  road: Road,
  row: ActionRow,
  { rebased, after, input, caller }: {
    rebased: Rebased;
    after: After;
    input: Pick<ApproveInput, "reason" | "remember">;
    caller: Caller;
  },
): Promise<ActionRow> {
  const { change: { path, shown }, now } = rebased;
  checkTargets(row.plan!);
  const judgement = await judge(road.services, row.plan!);
  const changes = [{ path, shown, before: now, after }];
  const draft = draftOf(row.plan!, changes, judgement.limits);
  return await approveDraft(road, row, { draft, judgement, input, caller });
}

/** @throws GateError `conflict` where something else stands there than the reviewer has seen */
export async function onSeenBase(
  services: ActionServices,
  row: ActionRow,
  seen: string | null,
): Promise<Rebased> {
  const rebased = await rebase(services, row);
  if (rebased && (rebased.now?.sha256 ?? null) === seen) return rebased;
  const now = rebased ? rebased.now?.sha256 ?? null : row.before_sha256;
  throw rebased
    ? changedAgain(row, { base_sha256: seen }, now)
    : refused(row, UNCHANGED, { expected_sha256: seen, now_sha256: now });
}

const UNCHANGED =
  "what it was asked on stands there unchanged, so there is nothing to approve it on";

function changedAgain(
  row: ActionRow,
  { base_sha256 }: { base_sha256: string | null },
  now?: string | null,
) {
  const why = "its file has changed once more since it was looked at";
  return refused(row, why, { expected_sha256: base_sha256, now_sha256: now });
}

function refused(row: ActionRow, why: string, fields: Record<string, unknown>): GateError {
  return new GateError("conflict", `Cannot approve action "${row.id}": ${why}; look at it again`, {
    fields: { current_status: row.status, ...fields },
  });
}
