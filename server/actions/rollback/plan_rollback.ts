import { existsSync } from "node:fs";
import { lastDrop, readBlob, sizeOfBlob } from "../../db/blobs.ts";
import { GateError } from "../../errors.ts";
import type { PolicyLimits } from "../../policy/schema.ts";
import { type FileImage, readImage } from "../../runtime/file_image.ts";
import { resolvePath } from "../../runtime/real_path.ts";
import { MAX_IN_MEMORY, textOf } from "../contents.ts";
import { droppedText } from "../../shown/dropped_text.ts";
import { type ActionServices, messageOf, notPossible } from "../context.ts";
import { listIntents } from "../execute/intents_store.ts";
import { type Access, foldersIn, type Plan, type PlannedChange } from "../plan.ts";
import { inTurns } from "../scheduling.ts";
import type { RollbackResult } from "../schema.ts";
import type { ActionRow } from "../store.ts";
import { type After, newState, planChanges, type Planned } from "../submit/plan_action.ts";
import { mergeTexts, unifiedDiff } from "../texts.ts";
import { whyNotAsLogged } from "./as_logged.ts";

type OnConflict = "abort" | "merge" | "force";

/** Files as they will be after newer actions are rolled back too. Other files are read from disk. */
export type States = Map<string, FileImage | null>;

interface RollbackOptions {
  on_conflict: OnConflict;
  /**
   * Set when several actions are planned in a row: files are read from here before the disk, and
   * each planned state is written here.
   */
  states?: States;
}

/** How an action is rolled back. */
export interface RollbackPlan {
  outcome: RollbackResult["outcome"];
  /** The hash of each file now, and before the action. */
  changes: RollbackResult["changes"];
  planned: Planned;
}

/** The rollback of one file. */
interface Step {
  change: PlannedChange;
  now: FileImage | null;
  outcome: "restored" | "already_undone" | "merged" | "forced" | "conflict";
  after: After | null;
}

/**
 * Plans how to restore each file to its content before the action. By default a file that has
 * changed since is a conflict; `merge` keeps the later changes, `force` discards them.
 * @throws GateError `conflict` with hashes and a diff, if an old content is no longer kept, or if the
 * log shows other changes
 */
export async function planRollback(
  services: ActionServices,
  original: ActionRow,
  limits: PolicyLimits,
  { on_conflict, states }: RollbackOptions,
): Promise<RollbackPlan> {
  const fault = await whyNotAsLogged(services, original);
  if (fault !== null) throw notPossible(original, "roll back", fault, "gate audit verify");
  const steps: Step[] = [];
  for await (const change of inTurns([...original.plan!.changes].reverse())) {
    const now = states?.get(change.path);
    const seen = now === undefined ? await readNow(original, change) : now;
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
  const folders = await foldersOf(services, original);
  const missing = folders.restored_folders.filter(({ path }) => !existsSync(path));
  const planned = plannedFrom(original, steps, limits, { ...folders, restored_folders: missing });
  return { outcome: outcomeOf(steps, planned.plan), changes, planned };
}

async function planStep(
  services: ActionServices,
  original: ActionRow,
  step: Pick<Step, "change" | "now">,
  on_conflict: OnConflict,
): Promise<Step> {
  const { change, now } = step;
  const hash = now?.sha256 ?? null;
  if (hash === (change.before?.sha256 ?? null) && !needsModeRestored(change, now)) {
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

/** Whether the action changed the mode only, and the mode is not restored yet. */
function needsModeRestored({ before, after }: PlannedChange, now: FileImage | null): boolean {
  return before?.sha256 === after?.sha256 && now?.mode !== before?.mode;
}

/**
 * Why a rollback's plan is not the one of this original; null if it is: it gives each file the content
 * from before, or merges that content with later changes.
 */
export async function faultOfPlan(
  services: ActionServices,
  original: ActionRow,
  plan: Plan,
): Promise<string | null> {
  for (const change of plan.changes) {
    const undone = original.plan?.changes.find(({ path }) => path === change.path);
    if (!undone) return `the original did not change "${change.shown}"`;
    const wanted = change.after?.sha256 ?? null;
    if (wanted === (undone.before?.sha256 ?? null)) continue;
    const before = undone.before && { state: undone.before, content: null };
    const now = change.before && { ...change.before, content: null };
    const merged = await merge(services, { change: undone, now }, before);
    if (merged?.state.sha256 !== wanted) return `"${change.shown}" had another content before`;
  }
  const allowed = await foldersOf(services, original);
  const found = foldersIn(plan);
  const isOf = (all: readonly unknown[], some: readonly unknown[]) => {
    const known = new Set(all.map((one) => JSON.stringify(one)));
    return some.every((one) => known.has(JSON.stringify(one)));
  };
  const areFolders = isOf(allowed.emptied_folders, found.emptied_folders) &&
    isOf(allowed.restored_folders, found.restored_folders) &&
    isOf(allowed.folder_modes, found.folder_modes);
  return areFolders ? null : "the original changed other folders";
}

/** The file now. A link or a folder in its place needs a person. */
async function readNow(original: ActionRow, { path, shown }: PlannedChange) {
  try {
    if (resolvePath(path).real !== path) throw new Error("it now leads to another file");
    return await readImage(path, MAX_IN_MEMORY);
  } catch (error) {
    throw notPossible(original, "roll back", `"${shown}": ${messageOf(error)}`);
  }
}

async function beforeOf(
  services: ActionServices,
  original: ActionRow,
  { before }: PlannedChange,
): Promise<After | null> {
  if (!before) return null;
  const { sha256, bytes, mode } = before;
  await services.contents.use([before]);
  if (await sizeOfBlob(services.ledger, sha256) !== null) {
    return { state: { sha256, bytes, mode }, content: null };
  }
  throw notPossible(original, "roll back", notKept(await lastDrop(services.ledger, [sha256])));
}

/** Why an old content cannot be restored. */
function notKept(dropped_at: string | null): string {
  if (dropped_at === null) return "the old content is no longer kept";
  return droppedText("the old content", dropped_at);
}

/** Reverts the change of the action in the text and keeps later changes. */
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

/** Null if it is not kept, not text or too large to compare. */
async function keptText(
  { ledger }: ActionServices,
  { sha256, bytes }: { sha256: string; bytes: number },
): Promise<string | null> {
  if (bytes > MAX_IN_MEMORY) return null;
  const content = await readBlob(ledger, sha256);
  return content && textOf(content);
}

/** The image after the step. It holds content only after a merge; the ledger has the others. */
function imageAfter({ now, outcome, after }: Step): FileImage | null {
  if (outcome === "already_undone") return now;
  if (!after) return null;
  const { sha256, bytes, mode } = after.state;
  const content = outcome === "merged" ? new Uint8Array(after.content!) : null;
  return { sha256, bytes, mode: mode ?? now?.mode ?? 0o644, content };
}

function plannedFrom(
  original: ActionRow,
  steps: Step[],
  limits: PolicyLimits,
  folders: Pick<Plan, "emptied_folders" | "restored_folders">,
): Planned {
  const open = steps.filter(({ outcome }) => outcome !== "already_undone");
  const accesses = open.map(({ change: { path, shown }, after }): Access => ({
    access: after ? "write" : "delete",
    target: { lexical: path, real: path, shown },
  }));
  const none = { command: null, cwd: null, input_sha256: null };
  const path = original.path ?? (open.length === 1 ? open[0]!.change.shown : null);
  const input = { tool: "rollback", path, ...none, accesses, input: { action_id: original.id } };
  const changes = open.map(({ change: { path, shown }, now, after }) => ({
    path,
    shown,
    before: now,
    after,
  }));
  const planned = planChanges(input, changes, limits);
  return { ...planned, plan: { ...planned.plan, ...folders } };
}

function outcomeOf(steps: readonly Step[], plan: Plan): RollbackPlan["outcome"] {
  for (const outcome of ["forced", "merged", "restored"] as const) {
    if (steps.some((step) => step.outcome === outcome)) return outcome;
  }
  return steps.length === 0 && changesFolders(plan) ? "restored" : "already_undone";
}

async function conflictOf(
  services: ActionServices,
  original: ActionRow,
  { steps, changes, on_conflict }: Pick<RollbackPlan, "changes"> & {
    steps: readonly Step[];
    on_conflict: OnConflict;
  },
): Promise<GateError> {
  const stuck = steps.filter(({ outcome }) => outcome === "conflict");
  const diffs = await Promise.all(stuck.map((step) => diffOf(services, step)));
  const conflicts = await Promise.all(stuck.map(async (step, at) => ({
    path: step.change.shown,
    left_sha256: step.change.after?.sha256 ?? null,
    now_sha256: step.now?.sha256 ?? null,
    before_sha256: step.change.before?.sha256 ?? null,
    texts: at < MAX_TEXTS ? await threeTexts(services, step) : null,
  })));
  const names = conflicts.map(({ path }) => `"${path}"`).join(", ");
  const [changed, ways] = on_conflict === "merge"
    ? ["changed since, and the changes cannot be merged", ["force"]]
    : ["changed since", ["merge", "force"]];
  const why = `${names} ${changed}`;
  return new GateError("conflict", `Cannot roll back action "${original.id}": ${why}`, {
    next: `look at the diff, then use on_conflict ${inQuotes(ways)}`,
    fields: {
      action_id: original.id,
      why,
      ways,
      current_status: original.status,
      changes,
      conflicts,
      diff: diffs.filter((diff) => diff !== null).join("\n") || null,
    },
  });
}

function inQuotes(ways: readonly string[]): string {
  return ways.map((way) => `"${way}"`).join(" or ");
}

/** Files of one conflict that are told with their texts, and the most characters of one text. */
const MAX_TEXTS = 5;
const MAX_TEXT_LENGTH = 50_000;

/** The file before the action, after it and now; null as a text where no file is. */
async function threeTexts(services: ActionServices, { change, now }: Step) {
  const textOfNow = now && (now.content ? textOf(now.content) : await keptText(services, now));
  const sides = [
    [change.before, change.before && await keptText(services, change.before)],
    [change.after, change.after && await keptText(services, change.after)],
    [now, textOfNow],
  ] as const;
  const isShown = sides.every(([file, text]) =>
    !file || (text != null && text.length <= MAX_TEXT_LENGTH)
  );
  if (!isShown) return null;
  const [before, left, current] = sides.map(([, text]) => text ?? null);
  return { before, left, now: current };
}

/** The diff from the content that the action left to the present one. */
async function diffOf(services: ActionServices, { change, now }: Step): Promise<string | null> {
  const before = change.after ? await keptText(services, change.after) : "";
  const after = now ? now.content && textOf(now.content) : "";
  if (before == null || after == null || before.length + after.length > 2_000_000) return null;
  return unifiedDiff(change.shown, before, after);
}

/** The mode for a removed folder whose mode is unknown. */
const DEFAULT_MODE = 0o755;

/**
 * The rollback removes each folder that the action created, if it is empty, and restores each
 * folder that the action removed.
 */
async function foldersOf(
  { ledger }: ActionServices,
  { id, plan }: ActionRow,
): Promise<ReturnType<typeof foldersIn>> {
  const intents = await listIntents(ledger, id);
  const forFiles = intents.filter(({ before_sha256 }) => before_sha256 === null)
    .flatMap(({ data }) => data.new_folders);
  const { folders, emptied_folders, restored_folders = [], folder_modes = [] } = plan!;
  const made = [...folders?.made ?? [], ...restored_folders].map(({ path }) => path);
  const gone = emptied_folders.map((path) => ({ path, mode: DEFAULT_MODE }));
  return {
    emptied_folders: [...new Set([...forFiles, ...made])],
    restored_folders: [...folders?.removed ?? [], ...gone],
    folder_modes: folder_modes.map(({ path, before, after }) => ({
      path,
      before: after,
      after: before,
    })),
  };
}

/** Whether a plan creates, removes or changes any folder. */
function changesFolders(plan: Plan): boolean {
  const { emptied_folders, restored_folders = [], folder_modes = [] } = plan;
  return restored_folders.length + folder_modes.length > 0 ||
    emptied_folders.some((path) => existsSync(path));
}
