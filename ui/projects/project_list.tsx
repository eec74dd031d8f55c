import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { HubProject } from "../../server/projects/schema.ts";
import type { Workspace } from "../../server/workspaces/schema.ts";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { More } from "../parts/placeholder.tsx";
import { Code, Text } from "../parts/text.tsx";
import { Ago } from "../parts/time.tsx";
import { count, number } from "../parts/words.ts";
import { useWorking } from "../parts/working.ts";
import { useAddress } from "../state/address.ts";
import { api, unwrap } from "../state/client.ts";
import { bind, useKeys } from "../state/keys.ts";
import type { Kept } from "../state/kept.ts";
import { pendingByProject, refreshMachine } from "../state/live.ts";
import { useWorkspace } from "../state/project.ts";

interface ProjectListProps {
  projects: Kept<HubProject>;
  workspaces: Workspace[];
}

const STEP = 100;

/** The registered projects: their folders, what waits, and whether gate can read them. */
export function ProjectList({ projects, workspaces }: ProjectListProps) {
  const { rows } = projects;
  const workspace = useWorkspace();
  const shown = useSignal(STEP);
  const list = useRef<HTMLUListElement>(null);
  const step = (by: number) => stepBy(list.current, by);
  useKeys(bind(
    "Move",
    ["j", "Select the next project", () => step(1)],
    ["k", "Select the previous project", () => step(-1)],
  ));
  const rest = rows.length - shown.value;
  return (
    <section aria-label="Projects">
      {rows.length === 0 && <NoProject workspace={workspace?.name ?? null} />}
      <ul class="room-list" ref={list} aria-label="Projects">
        {rows.slice(0, shown.value).map(({ item, isGone }) => (
          <ProjectRow key={item.id} project={item} isGone={isGone} workspaces={workspaces} />
        ))}
      </ul>
      {rest > 0 && (
        <More
          rest={count(rest, "more project")}
          next={Math.min(STEP, rest)}
          onMore={() => shown.value += STEP}
        />
      )}
    </section>
  );
}

function stepBy(list: HTMLElement | null, by: number): void {
  const links = [...list?.querySelectorAll<HTMLElement>(".project-name") ?? []];
  const at = links.findIndex((link) => link.closest("li")?.contains(document.activeElement));
  links[at < 0 ? 0 : Math.max(0, Math.min(links.length - 1, at + by))]?.focus();
}

function NoProject({ workspace }: { workspace: string | null }) {
  return (
    <p>
      {workspace === null
        ? (
          <>
            No project is registered yet. Run <code class="code">gate init</code>{" "}
            in a project’s folder: it writes the rules and registers the folder.
          </>
        )
        : (
          <>
            The workspace <Text value={workspace} /> has no projects yet.
          </>
        )}
    </p>
  );
}

interface RowProps {
  project: HubProject;
  isGone: boolean;
  workspaces: Workspace[];
}

function ProjectRow({ project, isGone, workspaces }: RowProps) {
  const address = useAddress();
  const { id, name, roots, last_activity_at, workspace_ids } = project;
  const held = pendingByProject.value.get(id) ?? 0;
  const here = { project: id, scope: null };
  const mine = workspaces.filter((one) => workspace_ids.includes(one.id));
  return (
    <li class="room-row project" aria-label={name}>
      <div class="room-row-what">
        <p class="project-head">
          <a class="project-name" href={address.href("/approvals", here)}>
            <Text value={name} />
          </a>
          {name !== id && (
            <span class="quiet">
              <Text value={id} />
            </span>
          )}
          <State project={project} isGone={isGone} />
        </p>
        <ul class="project-roots">
          {roots.map((root) => (
            <li key={root}>
              <Code value={root} />
            </li>
          ))}
        </ul>
        <p class="dotted quiet small">
          <span>
            {last_activity_at === null ? "no action yet" : (
              <>
                last action <Ago at={last_activity_at} said />
              </>
            )}
          </span>
          {held > 0 && <a href={address.href("/approvals", here)}>{number(held)} held</a>}
          <a href={address.href("/actions", here)}>actions</a>
          <a href={address.href("/policy", here)}>policy</a>
          <a href={address.href("/audit", here)}>audit</a>
          {mine.length > 0 && (
            <span>
              in <Text value={mine.map((one) => one.name).join(", ")} />
            </span>
          )}
        </p>
      </div>
      {!isGone && roots.length > 0 && <Forget project={project} />}
    </li>
  );
}

function State({ project, isGone }: Pick<RowProps, "project" | "isGone">) {
  if (isGone) return <span class="badge tone-quiet">not registered any more</span>;
  if (project.reachable) {
    return (
      <span class="badge tone-ok">
        <Icon name="check" />
        reachable
      </span>
    );
  }
  return (
    <span class="badge tone-danger">
      <Icon name="alert" />
      not reachable: its folder is gone, or the hub reports why
    </span>
  );
}

/** Asks before gate forgets a project. The machine's own records have no folder and stay. */
function Forget({ project: { id, name } }: { project: HubProject }) {
  const isAsked = useSignal(false);
  const { busy, run } = useWorking(refreshMachine);
  const forget = () => {
    const { projects } = api().api.hub;
    void run(
      () => unwrap(projects[":id"].$delete({ param: { id } })),
      `gate has forgotten ${name}`,
    );
  };
  if (!isAsked.value) {
    return <Button onClick={() => isAsked.value = true}>Forget…</Button>;
  }
  return (
    <div class="project-ask" role="group" aria-label={`Forget ${name}`}>
      <p>
        Its files and its records stay. <code class="code">gate init</code>{" "}
        in its folder brings it back, and so does an agent that works there.
      </p>
      <div class="room-buttons">
        <Button kind="danger" busy={busy.value} onClick={forget}>
          Forget <Text value={name} />
        </Button>
        <Button kind="quiet" onClick={() => isAsked.value = false}>Back</Button>
      </div>
    </div>
  );
}
