import { useRef } from "preact/hooks";
import type { HubProject } from "../../server/projects/schema.ts";
import { useProject } from "../project.ts";
import { useAddress } from "../router.ts";
import { daemon, pending, pendingByProject } from "../state.ts";
import { Icon } from "./icon.tsx";
import { Text } from "./text.tsx";

/** Which project the page is about, and what waits in each. */
export function ProjectSwitcher() {
  const menu = useRef<HTMLDetailsElement>(null);
  const id = useProject();
  const projects = daemon.value?.projects ?? [];
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
      <Current id={id} projects={projects} />
      <div class="menu">
        {projects.length > 1 && <Choice id={null} name="All projects" onChoose={close} />}
        {projects.map((project) => (
          <Choice
            key={project.id}
            id={project.id}
            name={project.name}
            away={!project.reachable}
            onChoose={close}
          />
        ))}
        {projects.length === 0 && (
          <p class="menu-none quiet">
            No project yet. Run <code>gate init</code> in a project’s folder.
          </p>
        )}
      </div>
    </details>
  );
}

function Current({ id, projects }: { id: string | null; projects: HubProject[] }) {
  const current = projects.find((project) => project.id === id);
  return (
    <summary title="Choose a project">
      <span class="switcher-name">
        {current ? <Text value={current.name} /> : id ? <Text value={id} /> : "All projects"}
      </span>
      <Icon name="chevron" />
      <span class="switcher-root">
        {current ? <Root project={current} /> : countOf(projects)}
      </span>
    </summary>
  );
}

interface ChoiceProps {
  id: string | null;
  name: string;
  away?: boolean;
  onChoose: () => void;
}

function Choice(props: ChoiceProps) {
  const address = useAddress();
  const waiting = props.id === null
    ? pending.value?.length ?? 0
    : pendingByProject.value.get(props.id) ?? 0;
  const page = address.path.startsWith("/actions/") ? "/actions" : address.path;
  return (
    <a href={address.href(page, { project: props.id })} onClick={props.onChoose}>
      <span class="menu-name">
        <Text value={props.name} />
      </span>
      {props.away && <span class="quiet">not reachable</span>}
      {waiting > 0 && <span class="pending-count">{waiting}</span>}
    </a>
  );
}

function Root({ project }: { project: HubProject }) {
  const [first, ...more] = project.roots;
  return (
    <>
      <Text value={first ?? ""} />
      {more.length > 0 && ` and ${more.length} more`}
    </>
  );
}

function countOf(projects: HubProject[]): string {
  return projects.length === 1 ? "1 project" : `${projects.length} projects`;
}
