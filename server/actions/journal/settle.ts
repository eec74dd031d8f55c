import type { FileChange, NewFile } from "../../runtime/files.ts";
import { readImage } from "../../runtime/file_image.ts";
import { applyChange, removeTemporary } from "../../runtime/files.ts";
import { removeEmptyFolders } from "../../runtime/folder.ts";
import type { IntentRow } from "./store.ts";

/** What came of an execution, as the files themselves show it. */
export interface Settled {
  execution: "succeeded" | "failed" | "unknown";
  error: string | null;
  intents: IntentRow[];
}

/** The content of a hash; both images are kept before a file is touched. */
export type Contents = (sha256: string) => Promise<NewFile["content"] | null>;

/**
 * Settles what was begun by looking at the files: all as they were to become is done, all as they
 * were is not done, a part of several is taken back, and anything else is a conflict for a person.
 * What is not done stays undone: whoever asked has been told nothing, and may ask again.
 */
export async function settleByLooking(
  intents: readonly IntentRow[],
  contents: Contents,
  why: string,
): Promise<Settled> {
  for (const { path, data } of intents) removeTemporary(path, data.temporary);
  return await conclude(intents, await Promise.all(intents.map(stateOf)), contents, why);
}

/** Settles what failed under our eyes at one of the files: those before it are done, those after not. */
export async function settleFailure(
  intents: readonly IntentRow[],
  failed: number,
  contents: Contents,
  why: string,
): Promise<Settled> {
  const states = intents.map((_, index): State => index < failed ? "done" : "undone");
  // The last step may fail after the rename, and the change stands nevertheless.
  if (await stateOf(intents[failed]!) === "done") states[failed] = "done";
  return await conclude(intents, states, contents, why);
}

async function conclude(
  intents: readonly IntentRow[],
  states: readonly State[],
  contents: Contents,
  why: string,
): Promise<Settled> {
  const ends = (end: (index: number) => State) =>
    intents.map((intent, index) => ({ ...intent, state: end(index) }));
  if (states.every((state) => state === "done")) {
    return { execution: "succeeded", error: null, intents: ends(() => "done") };
  }
  const foreign = intents.filter((_, index) => states[index] === "conflict");
  if (foreign.length === 0 && await takeBack(intents, states, contents)) {
    for (const { data } of intents) removeEmptyFolders(data.new_folders);
    return { execution: "failed", error: why, intents: ends(() => "undone") };
  }
  const which = foreign.map(({ path }) => `"${path}"`).join(", ") || "a part of it";
  return {
    execution: "unknown",
    error: `${why}; look at ${which}: it is neither as it was nor as it was to become`,
    intents: ends((index) => states[index]!),
  };
}

type State = "done" | "undone" | "conflict";

async function stateOf({ path, before_sha256, after_sha256, data }: IntentRow): Promise<State> {
  const image = await readImage(path, 0).catch(() => undefined);
  const now = image === undefined ? undefined : image?.sha256 ?? null;
  // Where only the mode changes, it alone tells.
  if (now === before_sha256 && now === after_sha256 && data.mode !== null) {
    return image?.mode === data.mode ? "done" : "undone";
  }
  if (now === after_sha256) return "done";
  return now === before_sha256 ? "undone" : "conflict";
}

/** Takes the finished part back; false where that is not possible. */
async function takeBack(
  intents: readonly IntentRow[],
  states: readonly State[],
  contents: Contents,
): Promise<boolean> {
  for (const intent of intents.filter((_, index) => states[index] === "done").reverse()) {
    const { path, before_sha256, after_sha256, data } = intent;
    const content = before_sha256 === null ? null : await contents(before_sha256);
    if (before_sha256 !== null && content === null) return false;
    const back: FileChange = {
      path,
      before: after_sha256,
      after: content && { content, mode: data.before_mode },
      temporary: data.temporary,
    };
    if (!await applyChange(back).then(() => true, () => false)) return false;
  }
  return true;
}
