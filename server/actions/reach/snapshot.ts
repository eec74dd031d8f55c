import type { Statement } from "../../db/ledger.ts";
import type { PolicyLimits } from "../../policy/schema.ts";
import { type FileImage, readImage } from "../../runtime/file_image.ts";
import { keepContents } from "../contents.ts";
import { MAX_IN_MEMORY } from "../draft.ts";
import type { KeptFile, Snapshot } from "../plan.ts";
import type { Reversibility } from "../schema.ts";
import type { ActionServices } from "../services.ts";
import { shownPath } from "../target.ts";
import { inTurns } from "../turns.ts";
import { rate, type Reaching, reachOf } from "./forecast.ts";
import type { Standing } from "./standing.ts";

/** So much is kept in one commit. */
const MAX_COMMIT = 4 * 1024 * 1024;

/** Keeps what a command will write or delete, as it stands now: before it may begin. */
export async function takeSnapshot(
  services: ActionServices,
  reaching: Reaching,
  limits: PolicyLimits,
): Promise<{ snapshot: Snapshot; reversibility: Reversibility }> {
  const { seq } = services.ledger.head;
  const { foreseen, standing } = await reachOf(services, reaching, limits);
  const { root } = reaching;
  const keeper = new Keeper(services, limits);
  const files: KeptFile[] = [];
  const gaps = [...foreseen.gaps, ...standing.gaps];
  const unkept = [...standing.unkept];
  for await (const path of inTurns(standing.files.keys())) {
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
  const { absent, is_whole } = standing;
  return {
    snapshot: {
      seq,
      files,
      folders: foldersOf(standing),
      absent: [...absent],
      unkept,
      is_whole,
      gaps,
    },
    reversibility: rate(gaps, files.length, touches),
  };
}

function foldersOf({ folders }: Standing): Snapshot["folders"] {
  return [...folders].map(([path, mode]) => ({ path, mode }));
}

/** Keeps files as they stand, several in one commit. */
export class Keeper {
  readonly #services: ActionServices;
  readonly #limits: PolicyLimits;
  #statements: Statement[] = [];
  #bytes = 0;

  constructor(services: ActionServices, limits: PolicyLimits) {
    this.#services = services;
    this.#limits = limits;
  }

  /** The file's state, with its content kept; null where that is not possible. */
  async keep(path: string): Promise<KeptFile["before"] | null> {
    try {
      const image = await readImage(path, Math.min(MAX_IN_MEMORY, this.#limits.maxBlobBytes));
      if (!image || !await this.keepImage(path, image)) return null;
      const { sha256, bytes, mode } = image;
      return { sha256, bytes, mode };
    } catch {
      return null; // it is being changed, or has become something else
    }
  }

  /** False where it is too large. */
  async keepImage(path: string, { sha256, bytes, content }: FileImage): Promise<boolean> {
    if (bytes > this.#limits.maxBlobBytes) return false;
    const one = { sha256, content: content ?? { path, bytes } };
    this.#statements.push(...await keepContents(this.#services, [one]));
    this.#bytes += content?.length ?? 0;
    if (this.#bytes > MAX_COMMIT || this.#statements.length > 60) await this.flush();
    return true;
  }

  async flush(): Promise<void> {
    const statements = this.#statements;
    this.#statements = [];
    this.#bytes = 0;
    if (statements.length > 0) await this.#services.ledger.commit({ statements, events: [] });
  }
}
