import { lstatSync } from "node:fs";
import type { Statement } from "../../db/ledger.ts";
import type { PolicyLimits } from "../../policy/schema.ts";
import { type FileImage, readImage } from "../../runtime/file_image.ts";
import { MAX_IN_MEMORY } from "../contents.ts";
import { type ActionServices, timestamp } from "../context.ts";
import { forgetIntents, insertDone, listChangedSince } from "../execute/intents_store.ts";
import type { FolderState, Plan, PlannedChange, Snapshot } from "../plan.ts";
import { inTurns } from "../scheduling.ts";
import type { ActionRow, Fields } from "../store.ts";
import { stateOf } from "../submit/plan_action.ts";
import { isInside, shownPath } from "../submit/target.ts";
import type { FoundFiles } from "./find_files.ts";
import { findEffects, rateReversibility } from "./forecast.ts";
import { Keeper } from "./snapshot.ts";

/** A larger file is not hashed. */
const MAX_HASHED = 512 * 1024 * 1024;

/**
 * Finds the effects of a command on files, by comparing them with the snapshot from before it.
 * Returns the fields of the row that change, and the statements to commit with them.
 */
export async function effectsOf(
  services: ActionServices,
  row: ActionRow,
): Promise<{ fields: Fields; statements: Statement[] }> {
  const snapshot = row.plan?.snapshot;
  if (!snapshot || row.status !== "approved") return { fields: {}, statements: [] };
  try {
    const { limits } = (await services.config.inForce()).compiled;
    const { found } = await findEffects(services, row, limits, snapshot);
    const comparison = new Comparison(services, row, snapshot, limits);
    await comparison.compareKept();
    await comparison.findNew(found);
    return await comparison.conclude(found);
  } catch (error) {
    // The result of the command must be recorded nevertheless.
    services.environment.log("error", "Cannot read the effects of a command", {
      ...{ action_id: row.id, error: String(error) },
    });
    const reversibility = rateReversibility(["Its effects on files could not be read"], 0, false);
    return { fields: { reversible: false, reversibility }, statements: [] };
  }
}

/** A changed file as the audit chain names it. */
export interface AuditedChange {
  path: string;
  /** The real path, if a link leads to it. */
  real?: string;
  before_sha256: string | null;
  after_sha256: string | null;
}

/** The changed files, for the audit chain: the first ones of many. */
export function changesIn({ plan, root }: Pick<ActionRow, "plan" | "root">): AuditedChange[] {
  return (plan?.changes ?? []).slice(0, MAX_AUDITED).map(({ path, shown, before, after }) => ({
    path: shown,
    ...shownPath(path, root) !== shown && { real: path },
    before_sha256: before?.sha256 ?? null,
    after_sha256: after?.sha256 ?? null,
  }));
}

export const MAX_AUDITED = 100;

class Comparison {
  readonly #services: ActionServices;
  readonly #row: ActionRow;
  readonly #snapshot: Snapshot;
  readonly #keeper: Keeper;
  readonly #changes: PlannedChange[] = [];
  readonly #gaps: string[];

  constructor(
    services: ActionServices,
    row: ActionRow,
    snapshot: Snapshot,
    limits: PolicyLimits,
  ) {
    this.#services = services;
    this.#row = row;
    this.#snapshot = snapshot;
    this.#keeper = new Keeper(services, limits, row.session_id);
    this.#gaps = [...snapshot.gaps];
  }

  async compareKept(): Promise<void> {
    for await (const { path, shown, before } of inTurns(this.#snapshot.files)) {
      const now = await this.#read(path, shown);
      if (now === undefined) continue;
      if (now?.sha256 === before.sha256 && now.mode === before.mode) continue;
      this.#changes.push({ path, shown, before, after: now && stateOf(now) });
    }
  }

  /** Finds created files. A file counts only if it is certain that it did not exist before. */
  async findNew({ files, unkept, unnamed, is_whole: isAll }: FoundFiles): Promise<void> {
    this.#gaps.unshift(...unnamed);
    if (!isAll) this.#gaps.push("not all of its files could be read");
    const { files: kept, unkept: had, absent, is_whole } = this.#snapshot;
    const known = new Set([...kept.map(({ path }) => path), ...had]);
    const created = [...files.keys(), ...unkept].filter((path) =>
      !known.has(path) && (is_whole || absent.some((folder) => isInside(path, folder)))
    );
    for await (const path of inTurns(created)) {
      const shown = shownPath(path, this.#row.root);
      const now = await this.#read(path, shown);
      if (now) this.#changes.push({ path, shown, before: null, after: stateOf(now) });
    }
  }

  async conclude(found: FoundFiles): Promise<{ fields: Fields; statements: Statement[] }> {
    await this.#keeper.flush();
    const changes = await this.#own();
    const folders = this.#folders(found);
    const folder_modes = this.#modes();
    const folderChanges = folders.made.length + folders.removed.length + folder_modes.length;
    const touches = changes.length + folderChanges > 0;
    const kept = changes.filter(({ before }) => before !== null).length;
    const plan: Plan = { ...this.#row.plan!, changes, folders, folder_modes };
    return {
      fields: {
        plan,
        reversible: touches,
        reversibility: rateReversibility(this.#gaps, kept, touches, true),
      },
      statements: this.#intents(changes),
    };
  }

  /** The file now; undefined if it cannot be compared. */
  async #read(path: string, shown: string): Promise<FileImage | null | undefined> {
    try {
      const size = lstatSync(path, { throwIfNoEntry: false })?.size ?? 0;
      const image = size > MAX_HASHED ? undefined : await readImage(path, MAX_IN_MEMORY);
      if (image === undefined) this.#gaps.push(`"${shown}" is too large to compare`);
      else if (image) await this.#keeper.keepImage(path, image);
      return image;
    } catch {
      this.#gaps.push(`"${shown}" is no longer a file that can be kept`);
      return undefined;
    }
  }

  /** The changes without those that another action made meanwhile. */
  async #own(): Promise<PlannedChange[]> {
    const { ledger } = this.#services;
    const paths = this.#changes.map(({ path }) => path);
    const foreign = await listChangedSince(ledger, paths, {
      seq: this.#snapshot.seq,
      but: this.#row.id,
    });
    return this.#changes.filter(({ path, shown }) => {
      if (!foreign.has(path)) return true;
      this.#gaps.push(`"${shown}" was changed by another action meanwhile`);
      return false;
    });
  }

  #folders({ folders }: FoundFiles): { made: FolderState[]; removed: FolderState[] } {
    const { folders: before, absent, is_whole } = this.#snapshot;
    const known = new Set(before.map(({ path }) => path));
    const created = is_whole ? [...folders.keys()].filter((path) => !known.has(path)) : [];
    const made = [...new Set([...absent, ...created])].map(folderAt).filter((one) => one !== null);
    return {
      made: made.sort((a, b) => a.path < b.path ? -1 : 1),
      removed: before.filter(({ path }) => folderAt(path) === null),
    };
  }

  #modes(): NonNullable<Plan["folder_modes"]> {
    return this.#snapshot.folders.flatMap(({ path, mode: before }) => {
      const after = folderAt(path)?.mode ?? before;
      return after === before ? [] : [{ path, before, after }];
    });
  }

  #intents(changes: readonly PlannedChange[]): Statement[] {
    const { project_id, environment } = this.#services;
    const settled_at = timestamp(environment);
    const created_at = this.#row.started_at ?? settled_at;
    return [
      forgetIntents(project_id, this.#row.id),
      ...insertDone(
        project_id,
        this.#row,
        changes.map((change) => ({ ...change, id: environment.id() })),
        { created_at, settled_at },
      ),
    ];
  }
}

function folderAt(path: string): FolderState | null {
  try {
    const found = lstatSync(path, { throwIfNoEntry: false });
    return found?.isDirectory() ? { path, mode: found.mode & 0o777 } : null;
  } catch {
    return null; // a parent is a file, so there is no such folder
  }
}
