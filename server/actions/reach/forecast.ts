import type { PolicyLimits } from "../../policy/schema.ts";
import { foresee, type Foreseen } from "../../policy/foresee.ts";
import type { Reversibility } from "../schema.ts";
import type { ActionServices } from "../services.ts";
import { findStanding, type Standing } from "./standing.ts";

/** What a command is, as far as its reach goes. */
export interface Reaching {
  command: string | null;
  cwd: string | null;
  root: string;
}

/** Where a command reaches, and what stands there now; below what was `absent` all is its own. */
export async function reachOf(
  services: ActionServices,
  { command, cwd, root }: Reaching,
  { maxBlobBytes }: Pick<PolicyLimits, "maxBlobBytes">,
  absent: ReadonlySet<string> = new Set(),
): Promise<{ foreseen: Foreseen; standing: Standing }> {
  const { around } = await services.config.inForce();
  const foreseen = foresee(command ?? "", cwd ?? root, around);
  const options = { root, maxBlobBytes, absent };
  return { foreseen, standing: await findStanding(foreseen.touched, options) };
}

/** Says, before anything is approved, how much of a command could be undone. */
export async function forecast(
  services: ActionServices,
  reaching: Reaching,
  limits: Pick<PolicyLimits, "maxBlobBytes">,
): Promise<{ reversibility: Reversibility; reach: string[] }> {
  const { foreseen, standing } = await reachOf(services, reaching, limits);
  const { files, absent, unkept, gaps } = standing;
  const touches = foreseen.touched.length > unkept.size;
  return {
    reversibility: rate([...foreseen.gaps, ...gaps], files.size, touches),
    reach: [...files.keys(), ...absent, ...unkept].slice(0, MAX_REACH),
  };
}

/** More files than this are not watched for what other sessions do to them. */
const MAX_REACH = 100;

export const CHANGES_NOTHING = "It changes no file";

const LEVELS = ["not", "partly", "reversible"] as const;

/** Whether less can be undone than was said when it was approved. */
export function isWorse(now: Reversibility, then: Reversibility | null): boolean {
  return then !== null && LEVELS.indexOf(now.level) < LEVELS.indexOf(then.level);
}

/** How much can be undone, and why not all. */
export function rate(
  gaps: readonly string[],
  kept: number,
  touches: boolean,
  isDone = false,
): Reversibility {
  if (gaps.length > 0) {
    return { level: touches ? "partly" : "not", kept, why: listed([...new Set(gaps)]) };
  }
  const why = !touches
    ? CHANGES_NOTHING
    : kept > 0
    ? keptAs(kept, isDone)
    : "What it makes would be removed again";
  return { level: "reversible", kept, why };
}

function keptAs(kept: number, isDone: boolean): string {
  return kept === 1
    ? `1 file is kept as it ${isDone ? "stood" : "stands"}`
    : `${kept} files are kept as they ${isDone ? "stood" : "stand"}`;
}

function listed(gaps: readonly string[]): string {
  const shown = gaps.slice(0, 3).map((gap) => gap.slice(0, 300)).join("; ");
  const more = gaps.length > 3 ? `; and ${gaps.length - 3} more` : "";
  return `${shown.charAt(0).toUpperCase()}${shown.slice(1)}${more}`;
}
