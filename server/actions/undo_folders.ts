import { existsSync } from "node:fs";
import { listIntents } from "./journal/store.ts";
import { makeFolder, removeEmptyFolders, setFolderMode } from "../runtime/folder.ts";
import type { Plan } from "./plan.ts";
import type { ActionServices } from "./services.ts";
import type { ActionRow } from "./store.ts";

type Folders = Pick<Plan, "emptied_folders" | "restored_folders" | "folder_modes">;

/** Of a folder that was emptied nothing is known but its name. */
const USUAL_MODE = 0o755;

/** What came with an action goes with its undoing where it is empty, and what went comes back. */
export async function foldersOf(
  { ledger }: ActionServices,
  { id, plan }: ActionRow,
): Promise<Folders> {
  const intents = await listIntents(ledger, id);
  const forFiles = intents.filter(({ before_sha256 }) => before_sha256 === null)
    .flatMap(({ data }) => data.new_folders);
  const { folders, emptied_folders, restored_folders = [], folder_modes = [] } = plan!;
  const made = [...folders?.made ?? [], ...restored_folders].map(({ path }) => path);
  const gone = emptied_folders.map((path) => ({ path, mode: USUAL_MODE }));
  return {
    emptied_folders: [...new Set([...forFiles, ...made])],
    restored_folders: [...folders?.removed ?? [], ...gone].filter(({ path }) => !existsSync(path)),
    folder_modes: folder_modes.map(({ path, before, after }) => ({
      ...{ path, before: after, after: before },
    })),
  };
}

/** Whether there are folders to remove, to make or to change. */
export function turnsFolders(plan: Plan): boolean {
  const { emptied_folders, restored_folders = [], folder_modes = [] } = plan;
  return restored_folders.length + folder_modes.length > 0 ||
    emptied_folders.some((path) => existsSync(path));
}

/** Makes the folders that have to stand before anything is written into them. */
export function makeFolders({ plan }: ActionRow): void {
  for (const { path } of plan?.restored_folders ?? []) makeFolder(path);
}

/** After the files: what is left empty goes, and modes are as they have to be. */
export function finishFolders({ plan }: ActionRow): void {
  const { restored_folders = [], folder_modes = [], emptied_folders = [] } = plan ?? {};
  for (const { path, before, after } of folder_modes) setFolderMode(path, after, before);
  for (const { path, mode } of [...restored_folders].reverse()) setFolderMode(path, mode);
  removeEmptyFolders(emptied_folders);
}
