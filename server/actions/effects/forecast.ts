import { foresee, type Foreseen } from "../../policy/foresee.ts";
import type { PolicyLimits } from "../../policy/schema.ts";
import type { ActionServices } from "../context.ts";
import type { Snapshot } from "../plan.ts";
import type { Reversibility } from "../schema.ts";
import { findFiles, type FoundFiles } from "./find_files.ts";

/** A command, as far as its effects depend on it. */
export interface Command {
  command: string | null;
  cwd: string | null;
  root: string;
}

/** More files than this are not watched for changes by other sessions. */
const MAX_WATCHED = 100;

export const CHANGES_NOTHING = "It changes no file";

const LEVELS = ["not", "partly", "reversible"] as const;

/**
 * The effects that a command may have on files, and the files that exist there now. With the state
 * `before` the command, everything counts below a path where nothing existed then, and nothing where
 * the search did not begin then.
 */
export async function findEffects(
  services: ActionServices,
  { command, cwd, root }: Command,
  { maxBlobBytes }: Pick<PolicyLimits, "maxBlobBytes">,
  before: Pick<Snapshot, "absent" | "starts"> | null = null,
): Promise<{ foreseen: Foreseen; found: FoundFiles }> {
  const { around } = await services.config.inForce();
  const foreseen = foresee(command ?? "", cwd ?? root, around);
  const absent = new Set(before?.absent);
  const starts = before?.starts ? new Set(before.starts) : null;
  const search = { root, maxBlobBytes, absent, starts };
  return { foreseen, found: await findFiles(foreseen.touched, search) };
}

/** How much of a command could be rolled back, before anyone approves it. */
export async function forecast(
  services: ActionServices,
  command: Command,
  limits: Pick<PolicyLimits, "maxBlobBytes">,
): Promise<{ reversibility: Reversibility; reach: string[] }> {
  const { foreseen, found } = await findEffects(services, command, limits);
  const { files, absent, unkept, gaps } = found;
  const touches = foreseen.touched.length > unkept.size;
  return {
    reversibility: rateReversibility([...foreseen.gaps, ...gaps], files.size, touches),
    reach: [...files.keys(), ...absent, ...unkept].slice(0, MAX_WATCHED),
  };
}

/** Whether less can be rolled back than the approval said. */
export function isWorse(now: Reversibility, then: Reversibility | null): boolean {
  return then !== null && LEVELS.indexOf(now.level) < LEVELS.indexOf(then.level);
}

/** How much can be rolled back, and the reasons why not all of it. */
export function rateReversibility(
  gaps: readonly string[],
  kept: number,
  touches: boolean,
  isDone = false,
): Reversibility {
  if (gaps.length > 0) {
    return { level: touches ? "partly" : "not", kept, why: sentenceOf([...new Set(gaps)]) };
  }
  const why = !touches
    ? CHANGES_NOTHING
    : kept > 0
    ? keptFiles(kept, isDone)
    : "gate deletes the files that it created";
  return { level: "reversible", kept, why };
}

function keptFiles(kept: number, isDone: boolean): string {
  const files = kept === 1 ? "1 file" : `${kept} files`;
  return isDone
    ? `gate kept the previous content of ${files}`
    : `gate keeps the current content of ${files}`;
}

function sentenceOf(gaps: readonly string[]): string {
  const shown = gaps.slice(0, 3).map((gap) => gap.slice(0, 300)).join("; ");
  const more = gaps.length > 3 ? `; and ${gaps.length - 3} more` : "";
  // The program's own name keeps its small letter.
  const isName = shown.startsWith("gate ");
  return `${isName ? shown : `${shown.charAt(0).toUpperCase()}${shown.slice(1)}`}${more}`;
}
