import { dirname } from "node:path";
import { readBlob, sizeOfBlob, streamBlob } from "../../db/blobs.ts";
import type { NewEvent, Statement } from "../../db/ledger.ts";
import { type FileImage, readImage } from "../../runtime/file_image.ts";
import {
  dropStaged,
  type NewFile,
  showChange,
  stageChange,
  type Staged,
  stageUnnamed,
} from "../../runtime/files.ts";
import {
  makeFolder,
  missingFolders,
  removeEmptyFolders,
  setFolderMode,
} from "../../runtime/folder.ts";
import { ConflictSearch, recordConflicts } from "../conflicts/conflicts.ts";
import { type Content, MAX_IN_MEMORY } from "../contents.ts";
import {
  type ActionContext,
  type ActionServices,
  loadAction,
  messageOf,
  timestamp,
} from "../context.ts";
import { recheckApproved } from "../review/approval.ts";
import { endGuarding, resumeGuarding, withGuarded } from "../guarding/project_guard.ts";
import { changesIn, effectsOf } from "../effects/outcome.ts";
import type { PlannedChange } from "../plan.ts";
import { inTurns, yieldTurn } from "../scheduling.ts";
import { type ActionRow, type Fields, type NewRow, updateAction } from "../store.ts";
import { executorOf, toolOf } from "../tools.ts";
import { BY_SYSTEM, eventOf, insertNew, transition } from "../transition.ts";
import { isOwnClaim, newClaim } from "./claims.ts";
import { insertIntents, type IntentRow, listIntents, settleIntents } from "./intents_store.ts";
import { temporaryOf, whyNotRecoverable } from "./recoverable.ts";
import { type Contents, type Outcome, recoverByFiles, recoverFailure } from "./recover.ts";
import { endWalls } from "./walled.ts";

/** A larger file is not returned to an agent. */
export const MAX_READ_BYTES = 4 * 1024 * 1024;

/** Commits in batches of this size so that other writers are not blocked. */
const BATCH = 60;

/**
 * Executes an action that a person approved and that has not started. Returns the row after it. What
 * policy allows starts in the commit that inserts it, so a row of such an action that waits was written
 * by another program, or by another machine that shares the ledger: it fails.
 */
export function executeApproved(context: ActionContext, row: ActionRow): Promise<ActionRow> {
  return asRunning(context, row.id, () =>
    context.serial.run(async () => {
      const { services } = context;
      await services.environment.fault?.("decided");
      if (row.decided_by === "policy") return await failUnstarted(services, row, NOT_STARTED);
      try {
        await recheckApproved(services, row);
      } catch (error) {
        return await failUnstarted(services, row, messageOf(error));
      }
      if (toolOf(row.tool).access === "read") return await readApproved(services, row);
      return await start(services, row);
    }));
}

const NOT_STARTED =
  "Cannot execute the action: nobody approved it, and it did not start when the " +
  "policy allowed it; let the agent submit it again";

/** The commit of an action that starts at once. */
interface NewExecution {
  /** The contents of the plan, which are not read from the ledger again. */
  contents: readonly Content[];
  events: NewEvent[];
  before?: Statement[];
  only?: Statement;
  /** The caller already runs in `context.serial`. */
  in_queue?: boolean;
}

/**
 * Inserts an action together with its start, in one commit before any file is touched, and executes
 * it. Returns null if the condition `only` did not hold.
 */
export async function executeNew(
  context: ActionContext,
  row: NewRow,
  { contents, events, before, only, in_queue = false }: NewExecution,
): Promise<ActionRow | null> {
  const { services, serial } = context;
  const { claim, intents } = startOf(services, row);
  const running = { ...row, ...claim };
  return await asRunning(context, row.id, async () => {
    context.deadlines.soon();
    const staging = new Staging(context, row, intents, contents);
    const conflicts = new ConflictSearch(services, running);
    staging.beginUnseen();
    try {
      const started = await insertNew(services, running, {
        before,
        only,
        after: (inserted) => insertIntents(services.project_id, running, intents, inserted),
        events: [...events, eventOf(running, "action.started", BY_SYSTEM)],
        on_inserted: () => {
          staging.begin();
          conflicts.begin();
        },
      });
      if (!started) return null;
      const run = () =>
        executeStarted(services, started, intents, { at_hand: contents, staging, conflicts });
      return in_queue ? await run() : await serial.run(run);
    } finally {
      await staging.drop();
    }
  });
}

/** More executions at once open their files one after the other. */
const MOST_STAGED = 32;

/**
 * The new content of a write in a file of its own. A file without a name is written before the start
 * of the write is in the log, a temporary file while the start waits for the disk. Only a write of one
 * file into a folder that exists is staged: everything else is visible before its rename.
 */
class Staging {
  readonly #change: { path: string; temporary: string; after: NewFile } | null;
  readonly #temporary: string;
  #staged: Promise<Staged | null> | null = null;

  constructor(
    { running }: ActionContext,
    { plan }: NewRow,
    intents: readonly IntentRow[],
    contents: readonly Content[],
  ) {
    const [intent] = intents;
    this.#temporary = intent?.data.temporary ?? "";
    const found = contents.find(({ sha256 }) => sha256 === intent?.after_sha256)?.content;
    const isPlain = intents.length === 1 && intent!.data.new_folders.length === 0 &&
      !plan?.restored_folders?.length && running.size <= MOST_STAGED;
    this.#change = isPlain && found instanceof Uint8Array
      ? {
        path: intent!.path,
        temporary: this.#temporary,
        after: { content: found, mode: intent!.data.mode },
      }
      : null;
  }

  /** Stages without a name, before the start is in the log. */
  beginUnseen(): void {
    this.#begin(stageUnnamed);
  }

  /** Stages under the temporary name, when the start in the log names it. */
  begin(): void {
    this.#begin(stageChange);
  }

  #begin(stage: typeof stageUnnamed | typeof stageChange): void {
    if (!this.#change || this.#staged) return;
    try {
      // The change itself meets the same fault and records it.
      this.#staged = stage(this.#change, this.#change.after)?.catch(() => null) ?? null;
    } catch {
      // The folder is gone.
    }
  }

  /** The staged content, for the change that takes it over. */
  async take(): Promise<Staged | null> {
    const staged = await this.#staged;
    this.#staged = null;
    return staged;
  }

  /** Removes what nothing took over. */
  async drop(): Promise<void> {
    const staged = await this.take();
    if (staged) dropStaged(staged, this.#temporary);
  }
}

/** Recovers an execution that a crash or a full disk interrupted. Returns the row after it. */
export function recoverAction(context: ActionContext, { id }: ActionRow): Promise<ActionRow> {
  return context.serial.run(async () => {
    const { services } = context;
    const row = await loadAction(services, id);
    if (row.execution !== "running" || row.plan?.native) return row;
    if (executorOf(row) === "claimer") {
      const error = "The gate stopped while it ran: the outcome is unknown";
      await resumeGuarding(services, row);
      await services.sandboxes.dropCopy(row.id);
      const restored = await endGuarding(services, row);
      // The process that claimed it may go on with it, and report.
      const guarded = [...restored, ...await endWalls(services, row, { goes_on: true })];
      const effects = withGuarded(row, await effectsOf(services, row), guarded);
      return await finish(services, row, { execution: "unknown", error, intents: [] }, effects);
    }
    const intents = await listIntents(services.ledger, row.id);
    const fault = await whyNotRecoverable(services, row, intents);
    if (fault !== null) return await refuseRecovery(services, row, { fault, intents });
    const why = "The gate stopped before it was finished";
    const outcome = await recoverByFiles(intents, contentsOf(services), why);
    if (outcome.execution === "succeeded") {
      makeFolders(row);
      finishFolders(row);
    }
    return await finish(services, row, outcome);
  });
}

/**
 * Fails a running action of a shared ledger if another machine has written its claim. Returns whether it
 * failed one.
 */
export async function refuseForged(services: ActionServices, row: ActionRow): Promise<boolean> {
  const { ledger } = services;
  if (ledger.machine === null) return false;
  const intents = await listIntents(ledger, row.id);
  if (isOwnClaim(services, row, intents)) return false;
  const fault = "this machine did not start it";
  await refuseRecovery(services, row, { fault, intents });
  return true;
}

/** Fails an action that the ledger wrongly calls running, and touches no file. */
async function refuseRecovery(
  services: ActionServices,
  row: ActionRow,
  { fault, intents }: { fault: string; intents: readonly IntentRow[] },
): Promise<ActionRow> {
  const { project_id, environment } = services;
  const { id: action_id, decided_by } = row;
  const shown = { project_id, action_id, decided_by, why: fault };
  environment.log("error", "a running action is not recovered: its ledger was changed", shown);
  const error = `Cannot recover the action: ${fault}; its files are left as they are, ` +
    "a person must look at them";
  const finished_at = timestamp(environment);
  const left = intents.map((intent) => ({ ...intent, state: "conflict" as const }));
  const failed = await transition(services, row, {
    from: { execution: ["running"] },
    to: { execution: "failed", error, finished_at },
    by: BY_SYSTEM,
    type: "action.finished",
    why: { execution: "failed", error, recovery_refused: fault },
    after: () => settleIntents(project_id, left, finished_at),
  });
  return failed ?? await loadAction(services, row.id);
}

/** The other changes of an outcome, and whether `recoverAction` would find the same one. */
interface Finishing {
  fields?: Fields;
  statements?: Statement[];
  is_own?: boolean;
  is_derivable?: boolean;
  is_certain?: boolean;
}

/** Records the outcome of an execution, and what it means for the action that it rolled back. */
async function finish(
  services: ActionServices,
  row: ActionRow,
  { execution, error, intents, settled: durable_after }: Outcome,
  { fields = {}, statements = [], is_own, is_derivable, is_certain }: Finishing = {},
): Promise<ActionRow> {
  const { ledger, project_id, environment } = services;
  const finished_at = timestamp(environment);
  const settled = settleIntents(project_id, intents, finished_at);
  // The intents of many files are settled ahead; the action itself changes in the last commit.
  while (settled.length > BATCH) {
    const statements = settled.splice(0, BATCH);
    await ledger.commit({ statements, events: [], is_derivable, durable_after });
    await yieldTurn();
  }
  const undone = execution === "succeeded" ? await undoneBy(services, row) : NOTHING_UNDONE;
  const finished = await transition(services, row, {
    from: { execution: ["running"], claim_id: row.claim_id ?? "" },
    to: { ...fields, execution, error, finished_at },
    by: BY_SYSTEM,
    type: "action.finished",
    why: {
      ...{ execution, error, sha256: row.after_sha256 },
      ...fields.plan && { changes: changesIn({ ...row, ...fields }) },
    },
    later: undone.events,
    after: () => [...settled, ...undone.statements, ...statements],
    is_own,
    is_derivable,
    is_certain,
    durable_after,
  });
  return finished ?? await loadAction(services, row.id);
}

/** Fails an approved action before it starts. */
export async function failUnstarted(
  services: ActionServices,
  row: ActionRow,
  error: string,
): Promise<ActionRow> {
  const nothing = toolOf(row.tool).restores === "effects" ? { reversible: false } : {};
  return await finishUnstarted(services, row, { ...nothing, execution: "failed", error });
}

/** Reads contents from the ledger, unless they are at hand. */
function contentsOf(
  { ledger }: ActionServices,
  at_hand: readonly Content[] = [],
): Contents {
  const found = new Map(at_hand.map(({ sha256, content }) => [sha256, content]));
  return async (sha256) => {
    const content = found.get(sha256);
    if (content instanceof Uint8Array) return content;
    const isLarge = (await sizeOfBlob(ledger, sha256) ?? 0) > MAX_IN_MEMORY;
    return await (isLarge ? streamBlob : readBlob)(ledger, sha256);
  };
}

/**
 * A folder that was moved is not made again: its file would lie beside the project, and the action
 * would count as done. Only a rollback that restores the folder itself makes it.
 */
function requireRoot({ root, plan }: ActionRow, intents: readonly IntentRow[]): void {
  const isMissing = intents.some(({ data }) => data.new_folders.includes(root));
  if (!isMissing || plan?.restored_folders?.some(({ path }) => path === root)) return;
  throw new Error(
    `Cannot write: the project's folder "${root}" does not exist; put it back, or run gate init in ` +
      "the folder where the project is now",
  );
}

/** Creates the folders that must exist before files are written into them. */
function makeFolders({ plan }: ActionRow): void {
  for (const { path } of plan?.restored_folders ?? []) makeFolder(path);
}

/** After the files: sets the modes of folders and removes those that became empty. */
function finishFolders({ plan }: ActionRow): void {
  const { restored_folders = [], folder_modes = [], emptied_folders = [] } = plan ?? {};
  for (const { path, before, after } of folder_modes) setFolderMode(path, after, before);
  for (const { path, mode } of [...restored_folders].reverse()) setFolderMode(path, mode);
  removeEmptyFolders(emptied_folders);
}

/** Why a file cannot be returned to the agent; null if it can. */
export function unreadable(shown: string | null, image: FileImage | null): string | null {
  if (!image) return `Cannot read "${shown}": there is no such file`;
  if (image.content) return null;
  return `Cannot read "${shown}": its ${image.bytes} bytes are more than ${MAX_READ_BYTES}; ` +
    "read a part of it with run_command";
}

/** Marks the action as running in this process, so that nothing recovers it meanwhile. */
async function asRunning<T>(
  { running }: ActionContext,
  id: string,
  work: () => Promise<T>,
): Promise<T> {
  running.add(id);
  try {
    return await work();
  } finally {
    running.delete(id);
  }
}

/** The fields of a start, and the intents that are committed with it. */
function startOf(services: ActionServices, row: NewRow) {
  const { environment } = services;
  const started_at = timestamp(environment);
  const changes = row.plan?.changes ?? [];
  const intents = changes.map((change) => intentOf(row, change, environment.id()));
  const claim_id = newClaim(services, row, intents);
  return { claim: { execution: "running" as const, claim_id, started_at }, intents };
}

function intentOf(row: NewRow, change: PlannedChange, id: string): IntentRow {
  const { path, before, after } = change;
  return {
    id,
    action_id: row.id,
    path,
    before_sha256: before?.sha256 ?? null,
    after_sha256: after?.sha256 ?? null,
    state: "open",
    data: {
      mode: after?.mode ?? null,
      before_mode: before?.mode ?? null,
      temporary: temporaryOf(id),
      new_folders: after ? missingFolders(dirname(path)) : [],
    },
  };
}

/** A precondition: the approved plan has not started. */
function unstarted({ digest }: ActionRow) {
  return { status: "approved" as const, execution: ["none" as const], digest };
}

async function start(services: ActionServices, row: ActionRow): Promise<ActionRow> {
  const { claim, intents } = startOf(services, row);
  const started = await transition(services, row, {
    from: unstarted(row),
    to: claim,
    by: BY_SYSTEM,
    type: "action.started",
    why: {},
    is_own: true,
    after: (changed) => insertIntents(services.project_id, { ...row, ...claim }, intents, changed),
  });
  return started
    ? await executeStarted(services, started, intents)
    : await loadAction(services, row.id);
}

/** Changes the files of an action whose start is committed. */
async function executeStarted(
  services: ActionServices,
  row: ActionRow,
  intents: readonly IntentRow[],
  { at_hand, staging, conflicts }: {
    at_hand?: readonly Content[];
    staging?: Staging;
    /** Of an action that never waited for a person. */
    conflicts?: ConflictSearch;
  } = {},
): Promise<ActionRow> {
  await services.environment.fault?.("intent");
  const contents = contentsOf(services, at_hand);
  const outcome = await applyAll(services, row, intents, { contents, staging });
  await services.environment.fault?.("applied");
  // `recoverAction` finds this success again, because its record is durable after its files.
  const is_derivable = outcome.execution === "succeeded";
  // A person saw the conflicts of a held action before the decision.
  const found = is_derivable && conflicts ? await conflicts.end() : [];
  // Its execution excludes every other change of the row: a review needs a pending one, a rollback a
  // finished one, and the recovery leaves what runs in this process. Other actions add conflicts only
  // to one that waits or has settled a file.
  const is_certain = is_derivable && conflicts !== undefined && found.length === 0 &&
    row.rollback_of === null;
  const finished = await finish(services, row, outcome, { is_own: true, is_derivable, is_certain });
  return await recordConflicts(services, finished, found);
}

async function applyAll(
  services: ActionServices,
  row: ActionRow,
  intents: readonly IntentRow[],
  { contents, staging }: { contents: Contents; staging?: Staging },
): Promise<Outcome> {
  const { fault } = services.environment;
  const done: IntentRow[] = [];
  let last: Promise<void> | undefined;
  try {
    services.guarding.accept(intents.map(({ path }) => path));
    requireRoot(row, intents);
    makeFolders(row);
  } catch (error) {
    return await recoverFailure(intents, 0, contents, messageOf(error, intents[0]?.path));
  }
  for await (const intent of inTurns(intents)) {
    try {
      const after = await afterOf(intent, contents);
      const change = { path: intent.path, before: intent.before_sha256, after };
      await last;
      const { made_folders, settled } = await showChange(
        { ...change, temporary: intent.data.temporary },
        fault,
        await staging?.take(),
      );
      // The agent does not wait for the last folder: the record of the outcome does.
      last = settled;
      settled.catch(() => {});
      done.push({ ...intent, state: "done", data: { ...intent.data, new_folders: made_folders } });
    } catch (error) {
      const rest = intents.slice(done.length);
      const why = messageOf(error, intent.path);
      return await recoverFailure([...done, ...rest], done.length, contents, why);
    }
  }
  finishFolders(row);
  // A file system that cannot sync a folder shows the change all the same.
  return { execution: "succeeded", error: null, intents: done, settled: last?.catch(() => {}) };
}

async function afterOf(intent: IntentRow, contents: Contents) {
  if (intent.after_sha256 === null) return null;
  const content = await contents(intent.after_sha256);
  if (!content) throw new Error("Cannot write: its content is no longer in the ledger");
  return { content, mode: intent.data.mode };
}

/** Records the hash of the file that was read. The answer reads the file again. */
async function readApproved(services: ActionServices, row: ActionRow): Promise<ActionRow> {
  try {
    const image = await readImage(row.plan!.accesses[0]!.target.real, MAX_READ_BYTES);
    const error = unreadable(row.path, image);
    if (error !== null) return await failUnstarted(services, row, error);
    const { sha256, bytes } = image!;
    const fields = { execution: "succeeded" as const, after_sha256: sha256, bytes };
    return await finishUnstarted(services, row, fields);
  } catch (error) {
    const { real } = row.plan!.accesses[0]!.target;
    return await failUnstarted(services, row, messageOf(error, real));
  }
}

async function finishUnstarted(
  services: ActionServices,
  row: ActionRow,
  fields: Fields & { execution: ActionRow["execution"] },
): Promise<ActionRow> {
  const { execution, error = null } = fields;
  const finished = await transition(services, row, {
    from: unstarted(row),
    to: { ...fields, finished_at: timestamp(services.environment) },
    by: BY_SYSTEM,
    type: "action.finished",
    why: { execution, error },
  });
  return finished ?? await loadAction(services, row.id);
}

/** A chain of rollbacks of rollbacks is followed this far. */
const MAX_CHAIN = 1_000;

const NOTHING_UNDONE = { statements: [], events: [] };

/**
 * The changes of earlier actions that a successful rollback causes. The rolled-back action becomes
 * `rolled_back`. If it was a rollback itself, the action before it becomes `approved` again, and so on.
 */
async function undoneBy(
  services: ActionServices,
  rollback: ActionRow,
): Promise<{ statements: Statement[]; events: NewEvent[] }> {
  const statements: Statement[] = [];
  const events: NewEvent[] = [];
  let undone = true;
  let at = rollback;
  for (let depth = 0; at.rollback_of !== null && depth < MAX_CHAIN; depth++) {
    const earlier = await loadAction(services, at.rollback_of);
    statements.push(updateAction(
      services.project_id,
      earlier.id,
      { status: undone ? "rolled_back" : "approved" },
      { status: undone ? "approved" : "rolled_back" },
    ));
    if (depth === 0) {
      const by = { rollback: rollback.id, by: rollback.decided_by, reason: rollback.reason };
      events.push(eventOf(earlier, "action.rolled_back", BY_SYSTEM, by));
    }
    undone = !undone;
    at = earlier;
  }
  return { statements, events };
}
