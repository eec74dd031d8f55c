import { readImage } from "../../runtime/file_image.ts";
import {
  applyChange,
  type FileChange,
  type NewFile,
  removeTemporary,
  settleEntries,
} from "../../runtime/files.ts";
import { removeEmptyFolders } from "../../runtime/folder.ts";
import type { IntentRow } from "./intents_store.ts";

/** The outcome of an execution. */
export interface Outcome {
  execution: "succeeded" | "failed" | "unknown";
  error: string | null;
  intents: IntentRow[];
  /** Settles when the disk has what succeeded; without it the disk has it already. */
  settled?: Promise<void>;
}

/** Finds the content of a hash. The ledger keeps old and new contents before a file is touched. */
export type Contents = (sha256: string) => Promise<NewFile["content"] | null>;

/**
 * Recovers an execution that a crash interrupted, by comparing the files with their intents. If all
 * files have their new content, it succeeded. If some do, they are restored and it failed: the agent
 * got no answer and may ask again. A file with any other content makes the outcome unknown.
 */
export async function recoverByFiles(
  intents: readonly IntentRow[],
  contents: Contents,
  why: string,
): Promise<Outcome> {
  for (const { path, data } of intents) removeTemporary(path, data.temporary);
  return await outcomeOf(intents, await Promise.all(intents.map(stateOf)), contents, why);
}

/** Recovers an execution that failed at one file: earlier files are done, later ones untouched. */
export async function recoverFailure(
  intents: readonly IntentRow[],
  failed: number,
  contents: Contents,
  why: string,
): Promise<Outcome> {
  const states = intents.map((_, index): State => index < failed ? "done" : "undone");
  // The failing step may come after the rename, when the change is already visible.
  if (await stateOf(intents[failed]!) === "done") states[failed] = "done";
  return await outcomeOf(intents, states, contents, why);
}

async function outcomeOf(
  intents: readonly IntentRow[],
  states: readonly State[],
  contents: Contents,
  why: string,
): Promise<Outcome> {
  const withState = (state: (index: number) => State) =>
    intents.map((intent, index) => ({ ...intent, state: state(index) }));
  if (states.every((state) => state === "done")) {
    // A power cut must not take what is recorded now.
    await settleEntries(intents.map(({ path }) => path));
    return { execution: "succeeded", error: null, intents: withState(() => "done") };
  }
  const foreign = intents.filter((_, index) => states[index] === "conflict");
  if (foreign.length === 0 && await restore(intents, states, contents)) {
    for (const { data } of intents) removeEmptyFolders(data.new_folders);
    return { execution: "failed", error: why, intents: withState(() => "undone") };
  }
  const which = foreign.map(({ path }) => `"${path}"`).join(", ") || "a part of it";
  return {
    execution: "unknown",
    error: `${why}; look at ${which}: it has neither the old content nor the new one`,
    intents: withState((index) => states[index]!),
  };
}

type State = "done" | "undone" | "conflict";

async function stateOf({ path, before_sha256, after_sha256, data }: IntentRow): Promise<State> {
  const image = await readImage(path, 0).catch(() => undefined);
  const now = image === undefined ? undefined : image?.sha256 ?? null;
  // If only the mode changes, the mode decides.
  if (now === before_sha256 && now === after_sha256 && data.mode !== null) {
    return image?.mode === data.mode ? "done" : "undone";
  }
  if (now === after_sha256) return "done";
  return now === before_sha256 ? "undone" : "conflict";
}

/** Restores the files that are done; false if one cannot be restored. */
async function restore(
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
