import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { Session } from "../../server/sessions/schema.ts";
import { Icon } from "../parts/icon.tsx";
import { Empty, Failed, Skeleton } from "../parts/placeholder.tsx";
import { Text } from "../parts/text.tsx";
import { Ago } from "../parts/time.tsx";
import { useAddress } from "../state/address.ts";
import { api, explain, unwrap } from "../state/client.ts";
import { useArrival } from "../state/arrival.ts";
import { daemon, useLive } from "../state/live.ts";
import { useProject, useProjects } from "../state/project.ts";
import { stateOf } from "./session.ts";

const MAX_PROJECTS = 20;

/** The table of sessions; each row opens one. */
export function SessionsPage() {
  const project = useProject();
  const known = useProjects().map((item) => item.id);
  const ids = project ? [project] : known.slice(0, MAX_PROJECTS);
  const sessions = useSignal<Session[] | null>(null);
  const problem = useSignal<string | null>(null);
  useLive(`${daemon.value !== null} ${ids.join()}`, async (late) => {
    if (daemon.value === null) return;
    try {
      const items = await load(ids);
      if (!late.aborted) sessions.value = items;
    } catch (error) {
      if (!late.aborted) problem.value = explain(error);
    }
  }, () => true);
  const body = useRef<HTMLElement>(null);
  useArrival(body, sessions.value !== null);
  return (
    <main class="scroll page-scroll" ref={body}>
      <div class="page-head">
        <h1>Sessions</h1>
        {!project && known.length > MAX_PROJECTS && (
          <p class="quiet">
            Sessions of the first {MAX_PROJECTS} projects. Choose a project to see its sessions.
          </p>
        )}
      </div>
      <Body items={sessions.value} problem={problem.value} several={project === null} />
    </main>
  );
}

interface BodyProps {
  items: Session[] | null;
  problem: string | null;
  several: boolean;
}

function Body({ items, problem, several }: BodyProps) {
  if (items === null) {
    if (problem === null) return <Skeleton lines={8} />;
    return <Failed title="The sessions could not be loaded" problem={problem} />;
  }
  return items.length === 0 ? <NoSessions /> : <SessionsTable items={items} several={several} />;
}

async function load(projects: string[]): Promise<Session[]> {
  const pages = await Promise.all(
    projects.map((id) => unwrap(api(id).api.sessions.$get({ query: { limit: "50" } }))),
  );
  return pages.flatMap((page) => page.items)
    .sort((a, b) => b.started_at.localeCompare(a.started_at));
}

function NoSessions() {
  return (
    <Empty icon="layers" title="No agent has connected yet">
      <p>A session starts when an agent connects to gate. It groups the actions of that agent.</p>
      <p class="quiet">
        <code>gate global-setup</code> connects your agents.
      </p>
    </Empty>
  );
}

function SessionsTable({ items, several }: { items: Session[]; several: boolean }) {
  return (
    <table class="table">
      <thead>
        <tr>
          <th scope="col">Agent</th>
          <th scope="col" class="cell-agent">Host</th>
          {several && <th scope="col" class="cell-project">Project</th>}
          <th scope="col" class="cell-number">Actions</th>
          <th scope="col" class="cell-number">Waiting</th>
          <th scope="col" class="cell-outcome cell-state">State</th>
          <th scope="col" class="cell-time">Started</th>
        </tr>
      </thead>
      <tbody>
        {items.map((session) => <Row key={session.id} session={session} several={several} />)}
      </tbody>
    </table>
  );
}

function Row({ session, several }: { session: Session; several: boolean }) {
  const address = useAddress();
  const { project_id, id } = session;
  return (
    <tr>
      <td class="cell-what">
        <a
          class="row-link"
          href={address.href(`/sessions/${id}`)}
          data-id={id}
          onClick={() => address.note({ at: id })}
        >
          <Icon name="layers" class="tool-icon" />
          <Text as="span" class="sentence" value={session.agent} />
        </a>
      </td>
      <Text as="td" class="cell-agent" value={session.host} />
      {several && <Text as="td" class="cell-project" value={project_id} />}
      <td class="cell-number">{session.action_count}</td>
      <td class="cell-number">{session.pending_count || ""}</td>
      <td class="cell-outcome">
        {stateOf(session)}
      </td>
      <td class="cell-time">
        <Ago at={session.started_at} />
      </td>
    </tr>
  );
}
