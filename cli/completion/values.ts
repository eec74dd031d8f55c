import { summarize } from "../actions/view.ts";
import { unwrap } from "../../server/client.ts";
import { type Connection, openConnection, scopedClient } from "../daemon/connect.ts";
import type { Io } from "../io.ts";
import { visibleLine } from "../terminal/visible.ts";
import type { Candidate } from "./candidates.ts";

type Source = (connection: Connection) => Promise<Candidate[]>;

/** Lists values for an option (`--project`) or for a command's argument (`approve id`). */
const SOURCES: Record<string, Source> = {
  "--project": listProjects,
  "--workspace": listWorkspaces,
  "approve id": listPending,
  "reject id": listPending,
  "show id": listRecent,
  "rollback id": listRecent,
  "session show id": listSessions,
  "session diff id": listSessions,
  "session rollback id": listSessions,
  "session assess id": listSessions,
  "session evaluate id": listSessions,
  "session recommend id": listSessions,
  "grant revoke id": listGrants,
  "project remove id": listProjects,
  "project trust-override id": listProjects,
  "notify remove id": listReceivers,
  "notify test id": listReceivers,
  "notify retry id": listFailed,
  "notify discard id": listFailed,
  "route change id": listRoutes,
  "route remove id": listRoutes,
  "team change id": listMembers,
  "team remove id": listMembers,
  "team link id": listMembers,
  "workspace show id": listWorkspaces,
  "workspace start id": listWorkspaces,
  "workspace remove id": listWorkspaces,
  "workspace add-project id": listWorkspaces,
  "workspace remove-project id": listWorkspaces,
};

const MAX_VALUES = 50;
const MAX_PROJECTS = 10;

/**
 * The known values of an option or argument; [] if the daemon does not run or a request fails, null
 * for any other name.
 */
export async function valuesOf(io: Io, name: string): Promise<Candidate[] | null> {
  const source = SOURCES[name];
  if (!source) return null;
  try {
    const found = await source(await openConnection(io, { scope: "viewer", start: false }));
    // Only ids go into a command line, so that a value cannot inject shell code.
    return found.filter(({ value }) => /^[A-Za-z0-9][\w.-]*$/.test(value))
      .map(({ value, description }) => ({ value, description: visibleLine(description) }));
  } catch {
    return [];
  }
}

async function listProjects({ client }: Connection): Promise<Candidate[]> {
  const { items } = await unwrap(client.api.hub.projects.$get());
  return items.map(({ id, roots }) => ({ value: id, description: roots[0] ?? "" }));
}

async function listMembers({ client }: Connection): Promise<Candidate[]> {
  const { items } = await unwrap(client.api.team.members.$get());
  return items.map(({ id, name }) => ({ value: id, description: name }));
}

async function listRoutes({ client }: Connection): Promise<Candidate[]> {
  const { items } = await unwrap(client.api["approval-routes"].$get());
  return items.map(({ id, name }) => ({ value: id, description: name }));
}

async function listReceivers({ client }: Connection): Promise<Candidate[]> {
  const { receivers } = await unwrap(client.api.notifications.$get());
  return receivers.map(({ id, kind }) => ({ value: id, description: kind }));
}

async function listFailed({ client }: Connection): Promise<Candidate[]> {
  const { items } = await unwrap(client.api.notifications.deliveries.$get({ query: {} }));
  return items.map(({ id, title }) => ({ value: id, description: title }));
}

async function listWorkspaces({ client }: Connection): Promise<Candidate[]> {
  const { items } = await unwrap(client.api.workspaces.$get());
  return items.map(({ id, name }) => ({ value: id, description: name }));
}

async function listPending({ client }: Connection): Promise<Candidate[]> {
  const { items } = await unwrap(client.api.global.approvals.pending.$get({ query: {} }));
  return items.slice(0, MAX_VALUES).map((action) => ({
    value: action.id,
    description: summarize(action),
  }));
}

async function listRecent({ client }: Connection): Promise<Candidate[]> {
  const query = { limit: String(MAX_VALUES) };
  const { items } = await unwrap(client.api.global.actions.$get({ query }));
  return items.map((action) => ({ value: action.id, description: summarize(action) }));
}

async function listGrants(connection: Connection): Promise<Candidate[]> {
  const projects = (await listProjects(connection)).slice(0, MAX_PROJECTS);
  const query = { state: "live" as const, limit: String(MAX_VALUES) };
  const lists = await Promise.all(
    projects.map(({ value }) => unwrap(scopedClient(connection, value).api.grants.$get({ query }))),
  );
  return lists.flatMap(({ items }) => items).map(({ id, pattern, command, path, tool }) => ({
    value: id,
    description: pattern ?? command ?? path ?? tool,
  }));
}

async function listSessions(connection: Connection): Promise<Candidate[]> {
  const projects = (await listProjects(connection)).slice(0, MAX_PROJECTS);
  const query = { limit: String(MAX_VALUES) };
  const lists = await Promise.all(
    projects.map(({ value }) =>
      unwrap(scopedClient(connection, value).api.sessions.$get({ query }))
    ),
  );
  return lists.flatMap(({ items }) => items).map(({ id, agent }) => ({
    value: id,
    description: agent,
  }));
}
