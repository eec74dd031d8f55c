import { Button } from "../parts/button.tsx";
import { Failed, Skeleton } from "../parts/placeholder.tsx";
import { count } from "../parts/words.ts";
import { useKept, useTakeKey } from "../state/kept.ts";
import { daemon, machineProblem, workspaces } from "../state/live.ts";
import { useProjects, useWorkspace } from "../state/project.ts";
import { AddProject } from "./add_project.tsx";
import { Machine } from "./machine.tsx";
import { ProjectList } from "./project_list.tsx";
import { Workspaces } from "./workspaces.tsx";

/** The projects of this machine, the workspaces that group them, and the daemon that serves them. */
export function ProjectsPage() {
  const status = daemon.value;
  const sets = workspaces.value;
  const scope = useWorkspace()?.id ?? "";
  const items = useProjects();
  const projects = useKept(status && { key: scope, items });
  useTakeKey(projects);
  return (
    <main class="scroll page-scroll room">
      <div class="page-head">
        <h1>Projects</h1>
        <span role="status">
          {projects !== null && projects.waiting > 0 && (
            <Button kind="quiet" keys="." onClick={projects.take}>
              Show {count(projects.waiting, "new project")}
            </Button>
          )}
        </span>
      </div>
      {status === null || sets === null || projects === null
        ? machineProblem.value === null
          ? <Skeleton lines={10} />
          : <Failed title="The projects could not be read" problem={machineProblem.value} />
        : (
          <>
            <ProjectList projects={projects} workspaces={sets} />
            <AddProject />
            <Workspaces workspaces={sets} projects={status.projects} />
            <Machine status={status} />
          </>
        )}
    </main>
  );
}
