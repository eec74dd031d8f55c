import type { Statement } from "../../db/ledger.ts";
import type { PolicyLimits } from "../../policy/schema.ts";
import { type FileImage, readImage } from "../../runtime/file_image.ts";
import { keepContents, MAX_IN_MEMORY } from "../contents.ts";
import type { ActionServices } from "../context.ts";
import type { KeptFile, Snapshot } from "../plan.ts";
import { inTurns } from "../scheduling.ts";
import type { Reversibility } from "../schema.ts";
import { shownPath } from "../submit/target.ts";
import type { ActionRow } from "../store.ts";
import { stateOf } from "../submit/plan_action.ts";
import { findEffects, rateReversibility } from "./forecast.ts";

/** Commits in batches of this many bytes or statements so that other writers are not blocked. */
const MAX_BATCH_BYTES = 4 * 1024 * 1024;
const MAX_BATCH = 60;

/** Keeps the files that a command will write or delete, before it may start. */
export async function takeSnapshot(
  services: ActionServices,
  row: ActionRow,
  limits: PolicyLimits,
): Promise<{ snapshot: Snapshot; reversibility: Reversibility }> {
  const { seq } = services.ledger.head;
  const { foreseen, found } = await findEffects(services, row, limits);
  const { root } = row;
  const keeper = new Keeper(services, limits, row.session_id);
  const files: KeptFile[] = [];
  const gaps = [...foreseen.gaps, ...found.gaps];
  const unkept = [...found.unkept];
  for await (const path of inTurns(found.files.keys())) {
    const before = await keeper.keep(path);
    const shown = shownPath(path, root);
    if (before) files.push({ path, shown, before });
    else {
      unkept.push(path);
      gaps.push(`"${shown}" could not be kept`);
    }
  }
  await keeper.flush();
  const touches = foreseen.touched.length > unkept.length;
  const { absent, starts, is_whole } = found;
  return {
    snapshot: {
      seq,
      files,
      folders: [...found.folders].map(([path, mode]) => ({ path, mode })),
      absent: [...absent],
      unkept,
      starts: [...starts],
      is_whole,
      gaps,
    },
    reversibility: rateReversibility(gaps, files.length, touches),
  };
}

/** Keeps the contents of files, several in one commit. */
export class Keeper {
  readonly #services: ActionServices;
  readonly #limits: PolicyLimits;
  readonly #session_id: string;
  #statements: Statement[] = [];
  #bytes = 0;

  constructor(services: ActionServices, limits: PolicyLimits, session_id: string) {
    this.#services = services;
    this.#limits = limits;
    this.#session_id = session_id;
  }

  /** Keeps the content of a file and returns its state; null if that is not possible. */
  async keep(path: string): Promise<KeptFile["before"] | null> {
    try {
      const image = await readImage(path, Math.min(MAX_IN_MEMORY, this.#limits.maxBlobBytes));
      if (!image || !await this.keepImage(path, image)) return null;
      return stateOf(image);
    } catch {
      return null; // it is changing, or it is no longer a regular file
    }
  }

  /** Keeps the content of an image; false if it is too large. */
  async keepImage(path: string, { sha256, bytes, content }: FileImage): Promise<boolean> {
    if (bytes > this.#limits.maxBlobBytes) return false;
    const one = { sha256, content: content ?? { path, bytes } };
    this.#services.intake.count(this.#session_id, [one]);
    this.#statements.push(...await keepContents(this.#services, [one]));
    this.#bytes += content?.length ?? 0;
    if (this.#bytes > MAX_BATCH_BYTES || this.#statements.length > MAX_BATCH) await this.flush();
    return true;
  }

  async flush(): Promise<void> {
    const statements = this.#statements;
    this.#statements = [];
    this.#bytes = 0;
    if (statements.length > 0) await this.#services.ledger.commit({ statements, events: [] });
  }
}
