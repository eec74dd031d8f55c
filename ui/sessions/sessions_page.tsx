import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { ListedSession } from "../../server/sessions/schema.ts";
import { Words } from "../actions/filters.tsx";
import { Choice } from "../parts/choice.tsx";
import { Icon } from "../parts/icon.tsx";
import { Empty, Failed, Skeleton } from "../parts/placeholder.tsx";
import { Text } from "../parts/text.tsx";
import { Ago } from "../parts/time.tsx";
import { useAddress } from "../state/address.ts";
import { api, explain, unwrap } from "../state/client.ts";
import { useArrival } from "../state/arrival.ts";
import { daemon, useLive } from "../state/live.ts";
import { nameOfProject, useProject, useProjects } from "../state/project.ts";
import { stateOf } from "./session.ts";
import { Strip } from "./strip.tsx";
import { SessionTitle } from "./title.tsx";

const MAX_PROJECTS = 20;

const STATES = { open: "Open", idle: "Idle", ended: "Ended" };
const FILTERS = ["state", "agent", "host", "client"] as const;

/** The table of sessions; each row opens one. */
export function SessionsPage() {
  const project = useProject();
  const known = useProjects().map((item) => item.id);
  const ids = project ? [project] : known.slice(0, MAX_PROJECTS);
  const { query } = useAddress();
  const filters = Object.fromEntries(FILTERS.flatMap((name) => {
    const value = query[name];
    return value ? [[name, value]] : [];
  }));
  const key = `${daemon.value !== null} ${ids.join()} ${JSON.stringify(filters)}`;
  const sessions = useSignal<{ key: string; items: ListedSession[] } | null>(null);
  const problem = useSignal<string | null>(null);
  useLive(key, async (late, changed) => {
    if (daemon.value === null) return;
    const before = sessions.peek();
    // Only the projects of the events are read again.
    const old = before?.key === key && changed !== null ? before.items : [];
    const wanted = old.length === 0 ? ids : ids.filter((id) => changed?.has(id));
    try {
      const items = await load(wanted, filters);
      if (late.aborted) return;
      const kept = old.filter(({ project_id }) => !wanted.includes(project_id));
      sessions.value = { key, items: [...items, ...kept].sort(newestFirst) };
      problem.value = null;
    } catch (error) {
      if (!late.aborted) problem.value = explain(error);
    }
  }, ({ topic }) => /^(?:actions|approvals|sessions)$/.test(topic));
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
      <form class="filters" onSubmit={(event) => event.preventDefault()} aria-label="Filters">
        <Choice name="state" label="State" all="Any state" options={STATES} />
        <Words name="agent" label="Agent" placeholder="Agent" />
        <Words name="host" label="Host" placeholder="Host" />
      </form>
      <Body
        items={sessions.value?.items ?? null}
        problem={problem.value}
        several={project === null}
        filtered={Object.keys(filters).length > 0}
      />
    </main>
  );
}

interface BodyProps {
  items: ListedSession[] | null;
  problem: string | null;
  several: boolean;
  filtered: boolean;
}

function Body({ items, problem, several, filtered }: BodyProps) {
  if (items === null) {
    if (problem === null) return <Skeleton lines={8} />;
    return <Failed title="The sessions could not be loaded" problem={problem} />;
  }
  if (items.length === 0) return <NoSessions filtered={filtered} />;
  return <SessionsTable items={items} several={several} />;
}

async function load(projects: string[], filters: Record<string, string>): Promise<ListedSession[]> {
  const pages = await Promise.all(
    projects.map((id) => unwrap(api(id).api.sessions.$get({ query: { ...filters, limit: "50" } }))),
  );
  return pages.flatMap((page) => page.items);
}

function newestFirst(a: ListedSession, b: ListedSession): number {
  return b.started_at.localeCompare(a.started_at);
}

function NoSessions({ filtered }: { filtered: boolean }) {
  const address = useAddress();
  if (filtered) {
    return (
      <Empty icon="search" title="No session matches these filters">
        <p>
          <a href={address.href("/sessions")}>Show all sessions</a>
        </p>
      </Empty>
    );
  }
  return (
    <Empty icon="layers" title="No agent has connected yet">
      <p>A session starts when an agent connects to gate. It groups the actions of that agent.</p>
      <p class="quiet">
        <code>gate global-setup</code> connects your agents.
      </p>
    </Empty>
  );
}

function SessionsTable({ items, several }: { items: ListedSession[]; several: boolean }) {
  return (
    <table class="table sessions-table">
      <thead>
        <tr>
          <th scope="col">Session</th>
          <th scope="col" class="cell-strip">Outcomes</th>
          <th scope="col" class="cell-outcome cell-state">State</th>
          <th scope="col" class="cell-number">Held</th>
          <th scope="col" class="cell-number">Actions</th>
          {several && <th scope="col" class="cell-project">Project</th>}
          <th scope="col" class="cell-agent">Agent</th>
          <th scope="col" class="cell-time cell-started">Started</th>
          <th scope="col" class="cell-time">Last seen</th>
        </tr>
      </thead>
      <tbody>
        {items.map((session) => <Row key={session.id} session={session} several={several} />)}
      </tbody>
    </table>
  );
}

function Row({ session, several }: { session: ListedSession; several: boolean }) {
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
          <SessionTitle session={session} />
        </a>
      </td>
      <td class="cell-strip">
        <Strip outcomes={session.outcomes} />
      </td>
      <td class="cell-outcome">
        {stateOf(session)}
      </td>
      <td class="cell-number">{session.pending_count || ""}</td>
      <td class="cell-number">{session.action_count}</td>
      {several && <Text as="td" class="cell-project" value={nameOfProject(project_id)} />}
      <Text as="td" class="cell-agent" value={session.agent} />
      <td class="cell-time cell-started">
        <Ago at={session.started_at} />
      </td>
      <td class="cell-time">
        <Ago at={session.last_seen_at} />
      </td>
    </tr>
  );
}
