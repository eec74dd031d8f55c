import type { Plan } from "../plan.ts";
import { absolutePath } from "../show/unnamed_files.ts";

/** The changes of these files, with their accesses. The paths start at the root. */
export function partOf(
  root: string,
  { changes, accesses }: Pick<Plan, "changes" | "accesses">,
  take: readonly string[],
): Pick<Plan, "changes" | "accesses"> {
  // The digest covers real paths, and not the names that a card shows.
  const taken = new Set(take.map((path) => absolutePath(path, root)));
  return {
    changes: changes.filter(({ path }) => taken.has(path)),
    accesses: accesses.filter(({ target }) => taken.has(target.real)),
  };
}
