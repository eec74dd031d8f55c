import { isStatic } from "./holes.ts";
import type { EvaluationOptions } from "./request.ts";

/**
 * Whether a path lies in `/tmp`, which is a folder of the session in a sandbox of bubblewrap. Other
 * engines have no mounts. A folder of `/tmp` that holds a project or the home stays the machine's.
 */
export function ownTmp(
  { engine, projects = [] }: NonNullable<EvaluationOptions["sandbox"]>,
  { roots, user_home, gate_home }: EvaluationOptions,
): ((path: string) => boolean) | null {
  if (engine !== "bubblewrap") return null;
  const used = new Set([...roots, ...projects, user_home, gate_home].map(firstOf));
  return (path) => {
    const first = firstOf(path);
    return first !== undefined && !used.has(first);
  };
}

function firstOf(path: string): string | undefined {
  return /^\/tmp\/[^/]+/.exec(path)?.[0];
}

/** Whether the session has a folder of its own in the place of this path. A link elsewhere has none. */
export function isOwn(
  path: string,
  { sandbox, resolve }: Pick<EvaluationOptions, "sandbox" | "resolve">,
): boolean {
  if (!sandbox?.is_own || !isStatic(path)) return false;
  const { lexical, real, unresolved } = resolve(path);
  return unresolved === undefined && sandbox.is_own(lexical) && sandbox.is_own(real);
}
