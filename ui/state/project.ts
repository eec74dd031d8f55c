import { useMemo } from "preact/hooks";
import type { Action } from "../../server/actions/schema.ts";
import type { HubProject } from "../../server/projects/schema.ts";
import type { Workspace } from "../../server/workspaces/schema.ts";
import { useAddress } from "./address.ts";
import { daemon, pending, pendingByProject, unread, workspaces } from "./live.ts";

/** The selected project; null means all. The only project is selected by default. */
export function useProject(): string | null {
  const { query } = useAddress();
  const projects = useProjects();
  if (query["project"]) return query["project"];
  return projects.length === 1 ? projects[0]!.id : null;
}

/** The selected workspace; null means every project of the machine. */
export function useWorkspace(): Pick<Workspace, "id" | "name"> | null {
  const id = useAddress().query["workspace"];
  if (!id) return null;
  return workspaces.value?.find((workspace) => workspace.id === id) ?? { id, name: id };
}

/** The projects of the selected workspace. */
export function useProjects(): HubProject[] {
  const workspace = useWorkspace();
  const projects = daemon.value?.projects ?? [];
  if (workspace === null) return projects;
  return projects.filter(({ workspace_ids }) => workspace_ids.includes(workspace.id));
}

/** The name of a project; its id until the projects are loaded. */
export function nameOfProject(id: string): string {
  return daemon.value?.projects.find((project) => project.id === id)?.name ?? id;
}

/** The number of held actions of a project, or of the selected workspace; 0 until it is known. */
export function useHeldCount(project: string | null): number {
  const all = usePending()?.length ?? 0;
  return (project ? pendingByProject.value.get(project) ?? 0 : all) + unread.value;
}

/** The held actions in the projects of the selected workspace; null until loaded. */
export function usePending(): Action[] | null {
  const narrowed = useWorkspace() !== null;
  const projects = useProjects();
  const all = pending.value;
  return useMemo(() => {
    if (!narrowed || all === null) return all;
    const ids = new Set(projects.map(({ id }) => id));
    return all.filter(({ project_id }) => ids.has(project_id));
  }, [all, narrowed, projects.map(({ id }) => id).join("/")]);
}
