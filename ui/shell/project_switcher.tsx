import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import type { HubProject } from "../../server/projects/schema.ts";
import { Icon } from "../parts/icon.tsx";
import { Text } from "../parts/text.tsx";
import { count } from "../parts/words.ts";
import { listPath, useAddress } from "../state/address.ts";
import { daemon, pendingByProject, workspaces } from "../state/live.ts";
import { usePending, useProject, useProjects, useWorkspace } from "../state/project.ts";

/** Selects a project or a workspace, and shows the number of held actions in each. */
export function ProjectSwitcher() {
  const menu = useRef<HTMLDetailsElement>(null);
  const id = useProject();
  const projects = useProjects();
  const workspace = useWorkspace();
  const close = () => menu.current?.removeAttribute("open");
  return (
    <details
      class="switcher"
      ref={menu}
      onFocusOut={(event) => {
        if (!menu.current?.contains(event.relatedTarget as Node | null)) close();
      }}
      onKeyDown={(event) => event.key === "Escape" && close()}
    >
      <Current id={id} projects={projects} all={workspace?.name ?? "All projects"} />
      <div class="menu">
        {projects.length > 1 && (
          <Choice
            id={null}
            name={workspace ? `All of ${workspace.name}` : "All projects"}
            onChoose={close}
          />
        )}
        {projects.map((project) => (
          <Choice
            key={project.id}
            id={project.id}
            name={project.name}
            unreachable={!project.reachable}
            onChoose={close}
          />
        ))}
        {projects.length === 0 && <NoProject workspace={workspace?.id ?? null} />}
        <Workspaces current={workspace?.id ?? null} onChoose={close} />
      </div>
    </details>
  );
}

function NoProject({ workspace }: { workspace: string | null }) {
  return (
    <p class="menu-none quiet">
      {workspace
        ? (
          <>
            This workspace has no projects. Run{" "}
            <code>
              gate workspace add-project <Text value={workspace} /> …
            </code>
          </>
        )
        : (
          <>
            No project yet. Run <code>gate init</code> in a project’s folder.
          </>
        )}
    </p>
  );
}

/** The other workspaces, and the link back to all projects. */
function Workspaces(props: { current: string | null; onChoose: () => void }) {
  const others = (workspaces.value ?? []).filter(({ id }) => id !== props.current);
  if (others.length === 0 && props.current === null) return null;
  return (
    <div class="menu-group" role="group" aria-label="Workspaces">
      <p class="quiet small menu-title" aria-hidden="true">Workspaces</p>
      {props.current !== null && (
        <MenuLink
          name="Every project"
          changes={{ workspace: null, project: null }}
          onChoose={props.onChoose}
        >
          <span class="quiet">{countOf(daemon.value?.projects ?? [])}</span>
        </MenuLink>
      )}
      {others.map(({ id, name, project_ids }) => (
        <MenuLink
          key={id}
          name={name}
          changes={{ workspace: id, project: null }}
          onChoose={props.onChoose}
        >
          <span class="quiet">{count(project_ids.length, "project")}</span>
        </MenuLink>
      ))}
    </div>
  );
}

interface CurrentProps {
  id: string | null;
  projects: HubProject[];
  /** The label for all projects together. */
  all: string;
}

function Current({ id, projects, all }: CurrentProps) {
  const current = projects.find((project) => project.id === id);
  return (
    <summary title="Choose a project">
      <span class="ellipsis switcher-name">
        {current ? <Text value={current.name} /> : id ? <Text value={id} /> : <Text value={all} />}
      </span>
      <Icon name="chevron" />
      <span class="ellipsis quiet small switcher-root">
        {current ? <Root project={current} /> : countOf(projects)}
      </span>
    </summary>
  );
}

interface ChoiceProps {
  id: string | null;
  name: string;
  unreachable?: boolean;
  onChoose: () => void;
}

function Choice(props: ChoiceProps) {
  const held = usePending();
  const waiting = props.id === null ? held?.length ?? 0 : pendingByProject.value.get(props.id) ?? 0;
  return (
    <MenuLink
      name={props.name}
      changes={{ project: props.id }}
      isCurrent={useProject() === props.id}
      onChoose={props.onChoose}
    >
      {props.unreachable && <span class="quiet">not reachable</span>}
      {waiting > 0 && <span class="pending-count">{waiting}</span>}
    </MenuLink>
  );
}

interface LinkProps {
  name: string;
  changes: Record<string, string | null>;
  /** The pages show this project now. */
  isCurrent?: boolean;
  onChoose: () => void;
  children: ComponentChildren;
}

/** A link to the same page with another project; leads from one action or session to the list. */
function MenuLink({ name, changes, isCurrent, onChoose, children }: LinkProps) {
  const { path, href } = useAddress();
  return (
    <a
      href={href(listPath(path), { scope: null, ...changes })}
      aria-current={isCurrent ? "true" : undefined}
      onClick={onChoose}
    >
      <span class="menu-mark">{isCurrent && <Icon name="check" />}</span>
      <Text as="span" class="ellipsis menu-name" value={name} />
      {children}
    </a>
  );
}

function Root({ project }: { project: HubProject }) {
  const [first, ...more] = project.roots;
  return (
    <>
      <Text value={first ?? project.name} />
      {more.length > 0 && ` and ${more.length} more`}
    </>
  );
}

function countOf(projects: HubProject[]): string {
  return count(projects.length, "project");
}
