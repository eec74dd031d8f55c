import { lstatSync } from "node:fs";
import type { Statement } from "../../db/ledger.ts";
import type { PolicyLimits } from "../../policy/schema.ts";
import { type FileImage, readImage } from "../../runtime/file_image.ts";
import { MAX_IN_MEMORY } from "../draft.ts";
import { forgetIntents, insertDone, listChangedSince } from "../journal/store.ts";
import type { FolderState, Plan, PlannedChange, Snapshot } from "../plan.ts";
import { type ActionServices, timestamp } from "../services.ts";
import type { ActionRow, Fields } from "../store.ts";
import { isInside, shownPath } from "../target.ts";
import { inTurns } from "../turns.ts";
import { rate, reachOf } from "./forecast.ts";
import { Keeper } from "./snapshot.ts";
import type { Standing } from "./standing.ts";

/** A larger file that came with a command is not even hashed. */
const MAX_HASHED = 512 * 1024 * 1024;

/**
 * What a command did to the files, by comparing them with what was kept before it began: what its
 * row has to say from now on, and what is to be committed with it.
 */
export async function outcomeOf(
  services: ActionServices,
  row: ActionRow,
): Promise<{ fields: Fields; statements: Statement[] }> {
  const snapshot = row.plan?.snapshot;
  if (!snapshot || row.status !== "approved") return { fields: {}, statements: [] };
  try {
    const { limits } = (await services.config.inForce()).compiled;
    const { standing } = await reachOf(services, row, limits, new Set(snapshot.absent));
    const comparison = new Comparison(services, row, snapshot, limits);
    await comparison.compareKept();
    await comparison.findNew(standing);
    return await comparison.conclude(standing);
  } catch (error) {
    // What came of the command has to be recorded all the same.
    services.environment.log("error", "Cannot look at what a command did", {
      ...{ action_id: row.id, error: String(error) },
    });
    const reversibility = rate(["What it did to the files could not be looked at"], 0, false);
    return { fields: { reversible: false, reversibility }, statements: [] };
  }
}

/** What the audit chain says of it. */
export function changesIn({ plan }: Fields): Record<string, string | null>[] {
  return (plan?.changes ?? []).slice(0, MAX_TOLD).map(({ shown, before, after }) => ({
    path: shown,
    before_sha256: before?.sha256 ?? null,
    after_sha256: after?.sha256 ?? null,
  }));
}

const MAX_TOLD = 100;

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
    this.#keeper = new Keeper(services, limits);
    this.#gaps = [...snapshot.gaps];
  }

  async compareKept(): Promise<void> {
    for await (const { path, shown, before } of inTurns(this.#snapshot.files)) {
      const now = await this.#look(path, shown);
      if (now === undefined) continue;
      if (now?.sha256 === before.sha256 && now.mode === before.mode) continue;
      this.#changes.push({ path, shown, before, after: now && stateOf(now) });
    }
  }

  /** Only where it is certain that nothing stood there before. */
  async findNew({ files, unkept, is_whole: isAll }: Standing): Promise<void> {
    if (!isAll) this.#gaps.push("not everything that it left could be looked at");
    const { files: kept, unkept: had, absent, is_whole } = this.#snapshot;
    const known = new Set([...kept.map(({ path }) => path), ...had]);
    const cameWith = [...files.keys(), ...unkept].filter((path) =>
      !known.has(path) && (is_whole || absent.some((folder) => isInside(path, folder)))
    );
    for await (const path of inTurns(cameWith)) {
      const shown = shownPath(path, this.#row.root);
      const now = await this.#look(path, shown);
      if (now) this.#changes.push({ path, shown, before: null, after: stateOf(now) });
    }
  }

  async conclude(standing: Standing): Promise<{ fields: Fields; statements: Statement[] }> {
    await this.#keeper.flush();
    const changes = await this.#own();
    const folders = this.#folders(standing);
    const folder_modes = this.#modes();
    const turned = folders.made.length + folders.removed.length + folder_modes.length;
    const touches = changes.length + turned > 0;
    const kept = changes.filter(({ before }) => before !== null).length;
    const plan: Plan = { ...this.#row.plan!, changes, folders, folder_modes };
    return {
      fields: { plan, reversible: touches, reversibility: rate(this.#gaps, kept, touches, true) },
      statements: this.#intents(changes),
    };
  }

  /** Undefined where it cannot be told. */
  async #look(path: string, shown: string): Promise<FileImage | null | undefined> {
    try {
      const size = lstatSync(path, { throwIfNoEntry: false })?.size ?? 0;
      const image = size > MAX_HASHED ? undefined : await readImage(path, MAX_IN_MEMORY);
      if (image === undefined) this.#gaps.push(`"${shown}" is too large to be compared`);
      else if (image) await this.#keeper.keepImage(path, image);
      return image;
    } catch {
      this.#gaps.push(`"${shown}" is no longer a file that can be kept`);
      return undefined;
    }
  }

  /** What another action changed through the gate meanwhile is not this one's to undo. */
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

  #folders({ folders }: Standing): { made: FolderState[]; removed: FolderState[] } {
    const { folders: before, absent, is_whole } = this.#snapshot;
    const known = new Set(before.map(({ path }) => path));
    const came = is_whole ? [...folders.keys()].filter((path) => !known.has(path)) : [];
    const made = [...new Set([...absent, ...came])].map(folderAt).filter((one) => one !== null);
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

function stateOf({ sha256, bytes, mode }: FileImage) {
  return { sha256, bytes, mode };
}

function folderAt(path: string): FolderState | null {
  try {
    const found = lstatSync(path, { throwIfNoEntry: false });
    return found?.isDirectory() ? { path, mode: found.mode & 0o777 } : null;
  } catch {
    return null; // a file where a folder should be
  }
}
