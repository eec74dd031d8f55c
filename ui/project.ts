import { useAddress } from "./router.ts";
import { daemon } from "./state.ts";

/** The project the page is about; null is all of them. A machine with one project means that one. */
export function useProject(): string | null {
  const { query } = useAddress();
  if (query["project"]) return query["project"];
  const projects = daemon.value?.projects ?? [];
  return projects.length === 1 ? projects[0]!.id : null;
}
