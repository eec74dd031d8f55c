import { useSignal } from "@preact/signals";
import type { HubProject } from "../../server/projects/schema.ts";
import type { Workspace } from "../../server/workspaces/schema.ts";
import { Button } from "../parts/button.tsx";
import { LineForm } from "../parts/form.tsx";
import { Icon } from "../parts/icon.tsx";
import { Text } from "../parts/text.tsx";
import { flatten } from "../../server/shown/visible.ts";
import { count } from "../parts/words.ts";
import { useWorking } from "../parts/working.ts";
import { useAddress } from "../state/address.ts";
import { api, unwrap } from "../state/client.ts";
import { refreshMachine } from "../state/live.ts";

interface WorkspacesProps {
  workspaces: Workspace[];
  projects: HubProject[];
}

/** The workspaces: named sets of projects, each a scope for every page. */
export function Workspaces({ workspaces, projects }: WorkspacesProps) {
  return (
    <section class="room-part" aria-labelledby="projects-workspaces">
      <h2 id="projects-workspaces">Workspaces</h2>
      <p class="quiet">
        A workspace is a named set of projects. Every page can keep to one; the switcher chooses it.
      </p>
      {workspaces.length === 0 && <p>There is no workspace.</p>}
      <ul class="room-list">
        {workspaces.map((one) => <WorkspaceRow key={one.id} workspace={one} projects={projects} />)}
      </ul>
      <AddWorkspace />
    </section>
  );
}

interface RowProps {
  workspace: Workspace;
  projects: HubProject[];
}

function WorkspaceRow({ workspace: { id, name, project_ids }, projects }: RowProps) {
  const address = useAddress();
  const { busy, run } = useWorking(refreshMachine);
  const one = () => api().api.workspaces[":id"];
  const leave = (project: HubProject) => {
    const param = { id, project_id: project.id };
    void run(
      () => unwrap(one().projects[":project_id"].$delete({ param })),
      `${project.name} is no longer in ${name}`,
    );
  };
  const members = projects.filter((project) => project_ids.includes(project.id));
  const others = projects.filter((project) => !project_ids.includes(project.id));
  const join = (project: HubProject) => {
    const json = { root: project.roots[0]! };
    void run(
      () => unwrap(one().projects.$post({ param: { id }, json })),
      `${project.name} is in ${name}`,
    );
  };
  return (
    <li class="room-row" aria-label={name}>
      <div class="room-row-what">
        <p>
          <a
            href={address.href("/approvals", { workspace: id, project: null, scope: null })}
          >
            <Text value={name} />
          </a>{" "}
          <span class="quiet">
            <Text value={id} />, {count(members.length, "project")}
          </span>
        </p>
        <ul class="workspace-members">
          {members.map((project) => (
            <li key={project.id}>
              <button
                type="button"
                class="filter-chip"
                title={`Take ${flatten(project.name)} out of this workspace`}
                aria-disabled={busy.value ? "true" : undefined}
                onClick={() => leave(project)}
              >
                <Text as="span" class="ellipsis" value={project.name} />
                <Icon name="x" />
              </button>
            </li>
          ))}
          {others.length > 0 && (
            <li>
              <label class="choice">
                <span class="visually-hidden">
                  Add a project to <Text value={name} />
                </span>
                <select
                  value=""
                  onChange={(event) => {
                    const project = others.find((other) => other.id === event.currentTarget.value);
                    event.currentTarget.value = "";
                    if (project) join(project);
                  }}
                >
                  <option value="">Add a project…</option>
                  {others.map((other) => (
                    <option key={other.id} value={other.id}>{flatten(other.name)}</option>
                  ))}
                </select>
                <Icon name="chevron" />
              </label>
            </li>
          )}
        </ul>
      </div>
      <Remove id={id} name={name} />
    </li>
  );
}

function Remove({ id, name }: { id: string; name: string }) {
  const isAsked = useSignal(false);
  const { busy, run } = useWorking(refreshMachine);
  const remove = () =>
    void run(
      () => unwrap(api().api.workspaces[":id"].$delete({ param: { id } })),
      `Workspace ${name} is removed`,
    );
  if (!isAsked.value) {
    return <Button kind="quiet" onClick={() => isAsked.value = true}>Remove…</Button>;
  }
  return (
    <div class="project-ask" role="group" aria-label={`Remove ${name}`}>
      <p>Its projects stay as they are.</p>
      <div class="room-buttons">
        <Button kind="danger" busy={busy.value} onClick={remove}>
          Remove <Text value={name} />
        </Button>
        <Button kind="quiet" onClick={() => isAsked.value = false}>Back</Button>
      </div>
    </div>
  );
}

/** Creates an empty workspace; its id is made of its name. */
function AddWorkspace() {
  const name = useSignal("");
  const { busy, run } = useWorking(refreshMachine);
  const id = idOf(name.value);
  const add = async () => {
    const json = { id, name: name.peek().trim() };
    if (json.name === "" || id === "") return;
    const made = await run(
      () => unwrap(api().api.workspaces.$post({ json })),
      `Workspace ${json.name} is created`,
    );
    if (made !== null) name.value = "";
  };
  return (
    <LineForm
      name="Create a workspace"
      label="Name of a new workspace"
      icon="layers"
      value={name}
      maxLength={200}
      placeholder="Web shop"
      verb="Create"
      busy={busy.value}
      onSubmit={() => void add()}
    >
      <p class="quiet small">
        {name.value.trim() === ""
          ? "Its id, for the command line, is made of its name."
          : id === ""
          ? "Use at least one letter from a to z, or a digit, for its id."
          : (
            <>
              Its id is <code class="code">{id}</code>
            </>
          )}
      </p>
    </LineForm>
  );
}

/** The id that a name gives: "Web shop" gives "web-shop". */
function idOf(name: string): string {
  return name.normalize("NFKD").toLowerCase().replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "").slice(0, 64);
}
