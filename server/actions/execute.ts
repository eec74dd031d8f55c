import { readBlob, sizeOfBlob, streamBlob } from "../db/blobs.ts";
import type { NewEvent, Statement } from "../db/ledger.ts";
import { type FileImage, readImage } from "../runtime/file_image.ts";
import { applyChange } from "../runtime/files.ts";
import { type IntentRow, listIntents, settleIntents } from "./journal/store.ts";
import { type Contents, settleByLooking, type Settled, settleFailure } from "./journal/settle.ts";
import { type Content, MAX_IN_MEMORY } from "./draft.ts";
import { recheck } from "./recheck.ts";
import { BY_SYSTEM, eventOf, loadAction } from "./record.ts";
import { outcomeOf } from "./reach/outcome.ts";
import type { Serial } from "./serial.ts";
import { type ActionServices, timestamp } from "./services.ts";
import { startOf } from "./start.ts";
import { type ActionRow, type Fields, toRow, updateAction, whereStands } from "./store.ts";
import { giveTurn, inTurns } from "./turns.ts";
import { finishFolders, makeFolders } from "./undo_folders.ts";
import { undoneOf } from "./undone.ts";

/** A larger file is not handed to an agent in one piece. */
export const MAX_READ_BYTES = 4 * 1024 * 1024;

/** More statements than this would hold everybody else up. */
const MANY = 60;

/** Carries out what the gate does itself: files. One at a time in a project. */
export interface Executor {
  services: ActionServices;
  serial: Serial;
  /** Actions that are being done just now, or are about to be. */
  underWay: Set<string>;
}

/** Does something about an action that nobody else may meanwhile take for left behind. */
export async function whileUnderWay<T>(
  { underWay }: Executor,
  id: string,
  work: () => Promise<T>,
): Promise<T> {
  underWay.add(id);
  try {
    return await work();
  } finally {
    underWay.delete(id);
  }
}

/** Does what was approved and not begun, once; the row as it stands afterwards. */
export function carryOut(executor: Executor, row: ActionRow): Promise<ActionRow> {
  return whileUnderWay(executor, row.id, () =>
    executor.serial.run(async () => {
      const { services } = executor;
      await services.environment.fault?.("decided");
      try {
        await recheck(services, row);
      } catch (error) {
        return await refuse(services, row, messageOf(error));
      }
      if (row.tool === "read_file") return await lookAt(services, row);
      return await begin(services, row);
    }));
}

/**
 * Does what has been committed as begun. Only from within the project's turn. Contents that are at
 * hand are not read from the ledger again.
 */
export async function perform(
  services: ActionServices,
  row: ActionRow,
  intents: readonly IntentRow[],
  at_hand: readonly Content[] = [],
): Promise<ActionRow> {
  await services.environment.fault?.("intent");
  const settled = await apply(services, row, intents, contentsOf(services, at_hand));
  await services.environment.fault?.("applied");
  return await finish(services, row, settled);
}

/** Settles what was begun and left behind, by a crash or a ledger that could not be written. */
export function settleLeft(executor: Executor, left: ActionRow): Promise<ActionRow> {
  return executor.serial.run(async () => {
    const { services } = executor;
    const row = await loadAction(services, left.id);
    if (row.execution !== "running" || row.plan?.native) return row;
    if (row.tool === "run_command") {
      const error = "The gate stopped while it ran: what came of it is not known";
      const done = await outcomeOf(services, row);
      return await finish(services, row, { execution: "unknown", error, intents: [] }, done);
    }
    const intents = await listIntents(services.ledger, row.id);
    const why = "The gate stopped before it was done";
    const settled = await settleByLooking(intents, contentsOf(services), why);
    if (settled.execution === "succeeded") {
      makeFolders(row);
      finishFolders(row);
    }
    return await finish(services, row, settled);
  });
}

async function begin(services: ActionServices, row: ActionRow): Promise<ActionRow> {
  const { ledger, project_id } = services;
  const { fields, intents, statements } = startOf(services, row);
  const { rows } = await ledger.commit({
    statements: [
      updateAction(project_id, row.id, fields, {
        status: "approved",
        execution: ["none"],
        digest: row.digest,
      }),
      ...statements,
    ],
    events: [eventOf(row, "action.started", BY_SYSTEM)],
    when: whereStands(project_id, row.id, { claim_id: fields.claim_id }),
  });
  const started = rows[0]?.[0];
  return started
    ? await perform(services, toRow(started), intents)
    : await loadAction(services, row.id);
}

async function apply(
  services: ActionServices,
  row: ActionRow,
  intents: readonly IntentRow[],
  contents: Contents,
): Promise<Settled> {
  const { fault } = services.environment;
  const done: IntentRow[] = [];
  try {
    makeFolders(row);
  } catch (error) {
    return await settleFailure(intents, 0, contents, messageOf(error));
  }
  for await (const intent of inTurns(intents)) {
    try {
      const after = await afterOf(intent, contents);
      const change = { path: intent.path, before: intent.before_sha256, after };
      const { made_folders } = await applyChange(
        { ...change, temporary: intent.data.temporary },
        fault,
      );
      done.push({ ...intent, state: "done", data: { ...intent.data, new_folders: made_folders } });
    } catch (error) {
      const rest = intents.slice(done.length);
      return await settleFailure([...done, ...rest], done.length, contents, messageOf(error));
    }
  }
  finishFolders(row);
  return { execution: "succeeded", error: null, intents: done };
}

async function afterOf(intent: IntentRow, contents: Contents) {
  if (intent.after_sha256 === null) return null;
  const content = await contents(intent.after_sha256);
  if (!content) throw new Error("Cannot write: its content is no longer in the ledger");
  return { content, mode: intent.data.mode };
}

/** Records what came of it, and what that means for the action that was undone by it. */
async function finish(
  services: ActionServices,
  row: ActionRow,
  { execution, error, intents }: Settled,
  more: { fields: Fields; statements: Statement[] } = { fields: {}, statements: [] },
): Promise<ActionRow> {
  const { ledger, project_id, environment } = services;
  const finished_at = timestamp(environment);
  const settled = settleIntents(project_id, intents, finished_at);
  // Of many files most are settled ahead: what has become of the action still is for one commit.
  while (settled.length > MANY) {
    await ledger.commit({ statements: settled.splice(0, MANY), events: [] });
    await giveTurn();
  }
  const undone = execution === "succeeded" ? await undoneOf(services, row) : nothingUndone();
  const { rows } = await ledger.commit({
    statements: [
      updateAction(project_id, row.id, { ...more.fields, execution, error, finished_at }, {
        execution: ["running"],
        claim_id: row.claim_id ?? "",
      }),
      ...settled,
      ...undone.statements,
      ...more.statements,
    ],
    events: [
      eventOf(row, "action.finished", BY_SYSTEM, { execution, error, sha256: row.after_sha256 }),
      ...undone.events,
    ],
    when: whereStands(project_id, row.id, { claim_id: row.claim_id ?? "" }),
  });
  const finished = rows[0]?.[0];
  return finished ? toRow(finished) : await loadAction(services, row.id);
}

/** Why a file cannot be handed out; null where it can. */
export function unreadable(shown: string | null, image: FileImage | null): string | null {
  if (!image) return `Cannot read "${shown}": there is no such file`;
  if (image.content) return null;
  return `Cannot read "${shown}": its ${image.bytes} bytes are more than ${MAX_READ_BYTES}; ` +
    "read a part of it with run_command";
}

/** A read changes nothing: what was there is noted, and the answer reads it again. */
async function lookAt(services: ActionServices, row: ActionRow): Promise<ActionRow> {
  try {
    const image = await readImage(row.plan!.accesses[0]!.target.real, MAX_READ_BYTES);
    const error = unreadable(row.path, image);
    if (error !== null) return await refuse(services, row, error);
    const { sha256, bytes } = image!;
    return await conclude(services, row, { execution: "succeeded", after_sha256: sha256, bytes });
  } catch (error) {
    return await refuse(services, row, messageOf(error));
  }
}

/** Ends what was approved and never began. */
export function refuse(
  services: ActionServices,
  row: ActionRow,
  error: string,
): Promise<ActionRow> {
  const nothing = row.tool === "run_command" ? { reversible: false } : {};
  return conclude(services, row, { ...nothing, execution: "failed", error });
}

async function conclude(
  services: ActionServices,
  row: ActionRow,
  fields: Partial<ActionRow>,
): Promise<ActionRow> {
  const { ledger, project_id, environment } = services;
  const claim_id = environment.id();
  const { rows } = await ledger.commit({
    statements: [
      updateAction(
        project_id,
        row.id,
        { ...fields, claim_id, finished_at: timestamp(environment) },
        { status: "approved", execution: ["none"], digest: row.digest },
      ),
    ],
    events: [eventOf(row, "action.finished", BY_SYSTEM, {
      execution: fields.execution,
      error: fields.error ?? null,
    })],
    when: whereStands(project_id, row.id, { claim_id }),
  });
  const ended = rows[0]?.[0];
  return ended ? toRow(ended) : await loadAction(services, row.id);
}

function contentsOf({ ledger }: ActionServices, at_hand: readonly Content[] = []): Contents {
  const found = new Map(at_hand.map(({ sha256, content }) => [sha256, content]));
  return async (sha256) => {
    const content = found.get(sha256);
    if (content instanceof Uint8Array) return content;
    const isLarge = (await sizeOfBlob(ledger, sha256) ?? 0) > MAX_IN_MEMORY;
    return await (isLarge ? streamBlob : readBlob)(ledger, sha256);
  };
}

function nothingUndone(): { statements: Statement[]; events: NewEvent[] } {
  return { statements: [], events: [] };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
