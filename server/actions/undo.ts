import { readBlob, sizeOfBlob } from "../db/blobs.ts";
import { GateError } from "../errors.ts";
import type { PolicyLimits } from "../policy/schema.ts";
import { type FileImage, readImage } from "../runtime/file_image.ts";
import { resolvePath } from "../runtime/real_path.ts";
import { textOf } from "./contents.ts";
import { type After, type Draft, draftOf, MAX_IN_MEMORY, newState } from "./draft.ts";
import { foldersOf, turnsFolders } from "./undo_folders.ts";
import { mergeTexts, unifiedDiff } from "./merge.ts";
import type { Access, Plan, PlannedChange } from "./plan.ts";
import { notPossible } from "./record.ts";
import type { RollbackResult } from "./schema.ts";
import { inTurns } from "./turns.ts";
import type { ActionServices } from "./services.ts";
import type { ActionRow } from "./store.ts";

type OnConflict = "abort" | "merge" | "force";

/** What stands at each path once newer actions are undone too; the disk is asked about the rest. */
export type States = Map<string, FileImage | null>;

export interface UndoOptions {
  on_conflict: OnConflict;
  /** Only thought through: these are looked at in place of the disk, and brought up to date. */
  states?: States;
}

/** How an action is undone. */
export interface Undo {
  outcome: RollbackResult["outcome"];
  /** What stands there now, and what stood there before the action. */
  changes: RollbackResult["changes"];
  draft: Draft;
}

/** One file on its way back. */
interface Step {
  change: PlannedChange;
  now: FileImage | null;
  outcome: "restored" | "already_undone" | "merged" | "forced" | "conflict";
  after: After | null;
}

/**
 * Says how to bring back what stood there before: only what the action left is replaced.
 * @throws GateError `conflict` with the hashes and a diff where something else stands there by now
 */
export async function planUndo(
  services: ActionServices,
  original: ActionRow,
  limits: PolicyLimits,
  { on_conflict, states }: UndoOptions,
): Promise<Undo> {
  const steps: Step[] = [];
  for await (const change of inTurns([...original.plan!.changes].reverse())) {
    const now = states?.get(change.path);
    const seen = now === undefined ? await lookUp(original, change) : now;
    steps.push(await planStep(services, original, { change, now: seen }, on_conflict));
  }
  const changes = steps.map(({ change, now }) => ({
    path: change.shown,
    now_sha256: now?.sha256 ?? null,
    then_sha256: change.before?.sha256 ?? null,
  }));
  if (steps.some(({ outcome }) => outcome === "conflict")) {
    throw await conflictOf(services, original, { steps, changes, on_conflict });
  }
  for (const step of states ? steps : []) states!.set(step.change.path, imageAfter(step));
  const draft = draftFrom(original, steps, limits, await foldersOf(services, original));
  return { outcome: outcomeOf(steps, draft.plan), changes, draft };
}

async function planStep(
  services: ActionServices,
  original: ActionRow,
  step: Pick<Step, "change" | "now">,
  on_conflict: OnConflict,
): Promise<Step> {
  const { change, now } = step;
  const hash = now?.sha256 ?? null;
  if (hash === (change.before?.sha256 ?? null) && !isModeLeft(change, now)) {
    return { ...step, outcome: "already_undone", after: null };
  }
  const before = await beforeOf(services, original, change);
  const isOurs = hash === (change.after?.sha256 ?? null);
  if (isOurs) return { ...step, outcome: "restored", after: before };
  if (on_conflict === "force") return { ...step, outcome: "forced", after: before };
  const merged = on_conflict === "merge" ? await merge(services, step, before) : null;
  if (merged) return { ...step, outcome: "merged", after: merged };
  return { ...step, outcome: "conflict", after: null };
}

/** The content is as it was, but the mode, which is all that was changed, is not. */
function isModeLeft({ before, after }: PlannedChange, now: FileImage | null): boolean {
  return before?.sha256 === after?.sha256 && now?.mode !== before?.mode;
}

/** What stands there now; a link or a folder in its place is for a person to look at. */
async function lookUp(original: ActionRow, { path, shown }: PlannedChange) {
  try {
    if (resolvePath(path).real !== path) throw new Error("it leads to another file by now");
    return await readImage(path, MAX_IN_MEMORY);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw notPossible(original, "roll back", `"${shown}": ${why}`);
  }
}

async function beforeOf(
  services: ActionServices,
  original: ActionRow,
  { before }: PlannedChange,
): Promise<After | null> {
  if (!before) return null;
  const { sha256, bytes, mode } = before;
  if (await sizeOfBlob(services.ledger, sha256) !== null) {
    return { state: { sha256, bytes, mode }, content: null };
  }
  throw notPossible(original, "roll back", "what was there before is no longer kept");
}

/** Takes out of the file what the action had put in, and leaves what came later. */
async function merge(
  services: ActionServices,
  { change, now }: Pick<Step, "change" | "now">,
  before: After | null,
): Promise<After | null> {
  if (!change.after || !now || !before) return null;
  const [base, ours, theirs] = await Promise.all([
    keptText(services, change.after),
    now.content ? textOf(now.content) : keptText(services, now),
    keptText(services, before.state),
  ]);
  if (base == null || ours == null || theirs == null) return null;
  const text = mergeTexts(base, ours, theirs);
  return text === null ? null : newState(new TextEncoder().encode(text), now.mode);
}

/** Null where it is not kept, not text or too large to be compared. */
async function keptText(
  { ledger }: ActionServices,
  { sha256, bytes }: { sha256: string; bytes: number },
): Promise<string | null> {
  if (bytes > MAX_IN_MEMORY) return null;
  const content = await readBlob(ledger, sha256);
  return content && textOf(content);
}

/** Contents are kept elsewhere, but for a merged one. */
function imageAfter({ now, outcome, after }: Step): FileImage | null {
  if (outcome === "already_undone") return now;
  if (!after) return null;
  const { sha256, bytes, mode } = after.state;
  const content = outcome === "merged" ? new Uint8Array(after.content!) : null;
  return { sha256, bytes, mode: mode ?? now?.mode ?? 0o644, content };
}

function draftFrom(
  original: ActionRow,
  steps: Step[],
  limits: PolicyLimits,
  folders: Pick<Plan, "emptied_folders" | "restored_folders">,
): Draft {
  const open = steps.filter(({ outcome }) => outcome !== "already_undone");
  const accesses = open.map(({ change: { path, shown }, after }): Access => ({
    access: after ? "write" : "delete",
    target: { lexical: path, real: path, shown },
  }));
  const none = { command: null, cwd: null, input_sha256: null };
  const path = original.path ?? (open.length === 1 ? open[0]!.change.shown : null);
  const asked = { tool: "rollback", path, ...none, accesses };
  const changes = open.map(({ change: { path, shown }, now, after }) => ({
    path,
    shown,
    before: now,
    after,
  }));
  const draft = draftOf({ ...asked, input: { action_id: original.id } }, changes, limits);
  return { ...draft, plan: { ...draft.plan, ...folders } };
}

function outcomeOf(steps: readonly Step[], plan: Plan): Undo["outcome"] {
  for (const outcome of ["forced", "merged", "restored"] as const) {
    if (steps.some((step) => step.outcome === outcome)) return outcome;
  }
  return steps.length === 0 && turnsFolders(plan) ? "restored" : "already_undone";
}

async function conflictOf(
  services: ActionServices,
  original: ActionRow,
  { steps, changes, on_conflict }: Pick<Undo, "changes"> & {
    steps: readonly Step[];
    on_conflict: OnConflict;
  },
): Promise<GateError> {
  const diffs = await Promise.all(
    steps.filter(({ outcome }) => outcome === "conflict").map((step) => diffOf(services, step)),
  );
  const conflicts = steps.filter(({ outcome }) => outcome === "conflict").map((
    { change, now },
  ) => ({
    path: change.shown,
    left_sha256: change.after?.sha256 ?? null,
    now_sha256: now?.sha256 ?? null,
    before_sha256: change.before?.sha256 ?? null,
  }));
  const names = conflicts.map(({ path }) => `"${path}"`).join(", ");
  const [why, next] = on_conflict === "merge"
    ? ["changed since, and the two cannot be merged", '"force"']
    : ["changed since", '"merge" or "force"'];
  const message = `Cannot roll back action "${original.id}": ${names} ${why}; ` +
    `look at the diff, then use on_conflict ${next}`;
  return new GateError("conflict", message, {
    fields: {
      current_status: original.status,
      changes,
      conflicts,
      diff: diffs.filter((diff) => diff !== null).join("\n") || null,
    },
  });
}

/** From what the action left to what stands there now. */
async function diffOf(services: ActionServices, { change, now }: Step): Promise<string | null> {
  const before = change.after ? await keptText(services, change.after) : "";
  const after = now ? now.content && textOf(now.content) : "";
  if (before == null || after == null || before.length + after.length > 2_000_000) return null;
  return unifiedDiff(change.shown, before, after);
}
