import { shownText } from "../contents.ts";
import type { NewState, Plan, PlannedChange } from "../plan.ts";
import type { ActionDetail } from "../schema.ts";
import type { ActionServices } from "../services.ts";

type Files = NonNullable<ActionDetail["files"]>;

/** Texts of all files together; whoever reads them has them all in one answer. */
const MAX_TOGETHER = 4 * 1024 * 1024;

/** Of a host's own tool, which may change many files at once: each of them with its texts. */
export async function shownFiles(
  services: ActionServices,
  plan: Plan | null,
): Promise<Files | null> {
  if (!plan?.native) return null;
  const files: Files = [];
  let left = MAX_TOGETHER;
  for (const change of plan.changes) {
    left -= (change.before?.bytes ?? 0) + (change.after?.bytes ?? 0);
    files.push(await shownFile(services, change, left >= 0));
  }
  return files;
}

async function shownFile(
  services: ActionServices,
  { shown, before, after, guessed }: PlannedChange,
  fits: boolean,
): Promise<Files[number]> {
  const side = async (state: NewState | null) => {
    if (!state) return null;
    const { sha256, bytes, mode } = state;
    return { text: fits ? await shownText(services, sha256) : null, bytes, mode };
  };
  return {
    path: shown,
    before_sha256: before?.sha256 ?? null,
    after_sha256: guessed ? null : after?.sha256 ?? null,
    before: await side(before),
    after: guessed ? null : await side(after),
    is_known: !guessed,
    is_left_out: !fits,
  };
}
