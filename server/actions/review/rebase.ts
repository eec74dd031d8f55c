import { GateError } from "../../errors.ts";
import { type FileImage, readImage } from "../../runtime/file_image.ts";
import { MAX_IN_MEMORY, shownText, textOf } from "../contents.ts";
import { type ActionServices, notPossible } from "../context.ts";
import type { PlannedChange } from "../plan.ts";
import type { ActionDetail } from "../schema.ts";
import type { ActionRow } from "../store.ts";
import { type ActionEvaluation, evaluateAgain } from "../submit/evaluate.ts";
import { editsOf } from "../submit/input.ts";
import {
  type After,
  editText,
  newState,
  planAction,
  planChanges,
  type Planned,
} from "../submit/plan_action.ts";
import { mergeTexts, unifiedDiff } from "../texts.ts";
import { toolOf } from "../tools.ts";
import { checkPlaces, checkTargets, type Reader } from "./recheck.ts";

/** A held change on top of the present content of its file. */
interface Rebased {
  change: PlannedChange;
  now: FileImage | null;
  /** Null if the change does not apply, and a person must edit it. */
  how: "reapplied" | "merged" | null;
  /** The content that would be written; null if none is. */
  after: After | null;
}

/** Shows a reviewer how the file changed since the action was held, and what would be written now. */
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
    next: nextStep(row, rebased),
  };
}

/**
 * Plans a held change on top of the base that the reviewer has seen. `content` replaces the merged
 * text with the reviewer's own. @throws GateError `conflict` if the file has changed again
 */
export async function planOnBase(
  services: ActionServices,
  row: ActionRow,
  seen: string | null,
  content?: Uint8Array,
): Promise<{ planned: Planned; evaluation: ActionEvaluation }> {
  const rebased = await requireBase(services, row, seen);
  if (content === undefined && keepsPlan(row)) return await planAgain(services, row, seen);
  const { change: { path, shown, after: held }, now } = rebased;
  const after = content ? newState(content, held?.mode ?? null) : rebased.after;
  if (!after) {
    const why = "it does not apply to the present content of the file; " +
      "use approve-with-edit (Edit in gate dashboard), or reject it";
    throw notPossible(row, "approve", why);
  }
  checkTargets(row.plan!);
  const evaluation = await evaluateAgain(services, row);
  const changes = [{ path, shown, before: now, after }];
  return { planned: planChanges(row.plan!, changes, evaluation.limits), evaluation };
}

/** How the file changed since the action was held; null if it is unchanged. */
export async function rebase(
  services: ActionServices,
  row: ActionRow,
  read: Reader = readImage,
): Promise<Rebased | null> {
  // The last change of a move is the file that moves.
  const change = row.plan?.changes.at(-1);
  const method = toolOf(row.tool, row.plan?.native).rebase;
  if (row.status !== "pending" || !change || method === null) return null;
  const now = await read(change.path, MAX_IN_MEMORY).catch(() => undefined);
  if (now === undefined || (now?.sha256 ?? null) === (change.before?.sha256 ?? null)) return null;
  if (method === "keep") return { change, now, how: now && "reapplied", after: null };
  const text = now?.content ? textOf(now.content) : null;
  const found = text === null
    ? null
    : method === "repeat"
    ? repeatEdits(row, text)
    : await mergeHeld(services, change, text);
  if (found === null) return { change, now, how: null, after: null };
  const after = newState(new TextEncoder().encode(found), change.after?.mode ?? null);
  return { change, now, how: method === "repeat" ? "reapplied" : "merged", after };
}

function keepsPlan({ tool }: ActionRow): boolean {
  return toolOf(tool).rebase === "keep";
}

async function mergeHeld(
  services: ActionServices,
  { before, after }: PlannedChange,
  now: string,
): Promise<string | null> {
  if (!before || !after) return null;
  const base = await shownText(services, before.sha256);
  const held = await shownText(services, after.sha256);
  return base === null || held === null ? null : mergeTexts(base, held, now);
}

function repeatEdits(row: ActionRow, now: string): string | null {
  try {
    return editText(now, editsOf(row.plan!), MAX_IN_MEMORY);
  } catch {
    return null; // an old text is gone or occurs twice
  }
}

function nextStep(row: ActionRow, { how }: Rebased): string {
  if (how) return "Approve it on the present content (gate approve --rebase), or reject it";
  if (keepsPlan(row)) return "Its file is gone: reject it and let the agent try again";
  return "It does not apply to the present content: approve an edited version in gate " +
    "dashboard, or reject it and let the agent try again";
}

/** Plans a deletion or a move again, for the present content. */
async function planAgain(services: ActionServices, row: ActionRow, seen: string | null) {
  const input = row.plan!;
  checkTargets(input);
  await checkPlaces(input);
  const evaluation = await evaluateAgain(services, row);
  const { analysis, limits } = evaluation;
  const parts = { input, content: null, analysis, limits };
  const planned = await planAction(services, row.root, parts);
  if (planned.plan.changes.at(-1)?.before?.sha256 !== seen) throw changedAgain(row, seen);
  return { planned, evaluation };
}

/** @throws GateError `conflict` if the file is not the one that the reviewer has seen */
async function requireBase(
  services: ActionServices,
  row: ActionRow,
  seen: string | null,
): Promise<Rebased> {
  const rebased = await rebase(services, row);
  if (rebased && (rebased.now?.sha256 ?? null) === seen) return rebased;
  if (rebased) throw changedAgain(row, seen, rebased.now?.sha256 ?? null);
  throw refused(row, UNCHANGED, { expected_sha256: seen, now_sha256: row.before_sha256 });
}

const UNCHANGED = "its file is unchanged, so there is no other base to approve it on";

function changedAgain(row: ActionRow, seen: string | null, now?: string | null): GateError {
  const why = "its file has changed again since the review";
  return refused(row, why, { expected_sha256: seen, now_sha256: now });
}

function refused(row: ActionRow, why: string, fields: Record<string, unknown>): GateError {
  return new GateError("conflict", `Cannot approve action "${row.id}": ${why}; look at it again`, {
    fields: { action_id: row.id, current_status: row.status, ...fields },
  });
}
