import { GateError } from "../errors.ts";
import { identifyProject } from "./identity.ts";
import type { HubProject } from "./schema.ts";

/**
 * The project that a registered folder belongs to. A folder whose id has changed stays a folder of
 * the project that it was before; then its config says which of them it is.
 */
export function projectOfFolder<P extends Pick<HubProject, "id" | "roots">>(
  root: string,
  projects: readonly P[],
): P | undefined {
  const all = projects.filter(({ roots }) => roots.includes(root));
  return all.length < 2 ? all[0] : all.find(({ id }) => id === idIn(root)) ?? all[0];
}

/** Null without a config that can be read. */
function idIn(root: string): string | null {
  try {
    return identifyProject(root).id;
  } catch (error) {
    if (error instanceof GateError) return null;
    throw error;
  }
}
