import type { ListeningPort, RunningProcess } from "../runtime/process_list.ts";
import { isProgram } from "./agents/programs.ts";
import type { Agent } from "./agents/agent.ts";
import type { LiveSession } from "./sessions.ts";
import type { TrackedPort } from "./store.ts";

/** A process that listens, with the session that it belongs to or belonged to. */
export interface OwnedPort {
  owner: RunningProcess;
  ports: ListeningPort[];
  agent: Agent;
  session_id: string;
  project_id: string | null;
}

export interface LeftPort extends OwnedPort {
  found_by: "tracked" | "marked";
}

/** The session that the environment of a process names; an empty one if it only names the agent. */
export interface Mark {
  agent: Agent;
  session_id: string | null;
  pid: number | null;
}

export interface PortsSeen {
  agents: readonly Agent[];
  sessions: readonly LiveSession[];
  running: ReadonlyMap<number, RunningProcess>;
  listening: readonly ListeningPort[];
  marks: ReadonlyMap<number, Mark>;
  tracked: readonly TrackedPort[];
  own_pid: number;
  own_uid: number | null;
  projectOf: (session: LiveSession) => string | null;
}

/** A process that listens on more is shown with these. */
const MOST_PORTS = 100;

/**
 * Tells the listening processes of live sessions from those whose session has ended. A process counts
 * for a session if it descends from it or if its environment names it. What nobody can tell is neither.
 */
export function sortPorts(seen: PortsSeen): { children: OwnedPort[]; left: LeftPort[] } {
  const children: OwnedPort[] = [];
  const left: LeftPort[] = [];
  const candidates = [...groupByProcess(seen.listening)].flatMap(([pid, ports]) => {
    const owner = seen.running.get(pid);
    return owner && isCandidate(owner, seen) ? [{ owner, ports }] : [];
  });
  for (const one of candidates) {
    const owner = ownerOf(one.owner, seen);
    if (owner) {
      const { agent, session_id } = owner;
      children.push({ ...one, agent, session_id, project_id: seen.projectOf(owner) });
    } else left.push(...leftBy(one, seen));
  }
  return { children, left };
}

/** The listening processes that descend from no session, whose environment may name one. */
export function unownedListeners(
  seen: Omit<PortsSeen, "marks" | "tracked" | "projectOf">,
): RunningProcess[] {
  return [...groupByProcess(seen.listening).keys()].flatMap((pid) => {
    const owner = seen.running.get(pid);
    return owner && isCandidate(owner, seen) && !ancestorOf(owner, seen) ? [owner] : [];
  });
}

function isCandidate(
  owner: RunningProcess,
  { own_pid, own_uid, agents }: Pick<PortsSeen, "own_pid" | "own_uid" | "agents">,
): boolean {
  if (owner.pid <= 1 || owner.pid === own_pid) return false;
  // Without a start time nobody can tell it from a later process with its pid.
  if (owner.start_time === "") return false;
  if (own_uid !== null && owner.uid !== own_uid) return false;
  // An agent's own servers listen too, and end with it.
  return !agents.some((agent) => isProgram(owner, { ...agent, side_commands: [] }));
}

/** The ports of each process, at most 100 of one. */
export function groupByProcess(listening: readonly ListeningPort[]): Map<number, ListeningPort[]> {
  const groups = new Map<number, ListeningPort[]>();
  for (const one of listening) {
    const ports = groups.get(one.pid) ?? [];
    const isKnown = ports.some(({ port, address }) => port === one.port && address === one.address);
    if (isKnown || ports.length >= MOST_PORTS) continue;
    ports.push(one);
    groups.set(one.pid, ports);
  }
  return groups;
}

function ownerOf(owner: RunningProcess, seen: PortsSeen): LiveSession | null {
  const ancestor = ancestorOf(owner, seen);
  if (ancestor) return ancestor;
  const mark = seen.marks.get(owner.pid);
  return mark === undefined
    ? null
    : seen.sessions.find((session) => isMarkedBy(session, mark)) ?? null;
}

const MOST_ANCESTORS = 64;

/** The session from which the process descends. */
function ancestorOf(
  owner: RunningProcess,
  { sessions, running }: Pick<PortsSeen, "sessions" | "running">,
): LiveSession | null {
  const byPid = new Map(sessions.flatMap((one) => one.owner ? [[one.owner.pid, one]] : []));
  let at: RunningProcess | undefined = owner;
  for (let left = MOST_ANCESTORS; at && left > 0; left--) {
    const found = byPid.get(at.pid);
    if (found) return found;
    at = running.get(at.ppid);
  }
  return null;
}

function isMarkedBy(session: LiveSession, { agent, session_id, pid }: Mark): boolean {
  if (session.agent.id !== agent.id) return false;
  if (session_id !== null) return session.session_id === session_id;
  return pid !== null && session.owner?.pid === pid;
}

function leftBy(
  one: { owner: RunningProcess; ports: ListeningPort[] },
  { tracked, marks, sessions, agents, running }: PortsSeen,
): LeftPort[] {
  const { pid, start_time } = one.owner;
  const row = tracked.find((other) =>
    other.pid === pid && other.start_time === start_time &&
    other.ports.some((port) => one.ports.some((now) => now.port === port))
  );
  const agent = agents.find(({ id }) => id === row?.agent);
  if (row && agent) {
    const { session_id, project_id } = row;
    const isLive = sessions.some((session) =>
      session.agent.id === agent.id && session.session_id === session_id
    );
    return isLive ? [] : [{ ...one, agent, session_id, project_id, found_by: "tracked" }];
  }
  const mark = marks.get(pid);
  if (mark === undefined) return [];
  const isNamed = mark.session_id !== null || mark.pid !== null;
  // The mark names only the agent: any of its live sessions may have started the process.
  if (!isNamed && sessions.some((session) => session.agent.id === mark.agent.id)) return [];
  if (mark.session_id === null && mark.pid !== null && running.has(mark.pid)) return [];
  const session_id = mark.session_id ?? (mark.pid === null ? "unknown" : `process-${mark.pid}`);
  return [{ ...one, agent: mark.agent, session_id, project_id: null, found_by: "marked" }];
}

/** The mark in the variables of a process; null without one. */
export function markOf(
  variables: Record<string, string>,
  agents: readonly Agent[],
): Mark | null {
  for (const agent of agents) {
    const { flag, session, pid } = agent.marks;
    const named = session.flatMap((name) => variables[name] || []);
    const of = pid.flatMap((name) => /^\d+$/.test(variables[name] ?? "") ? variables[name]! : []);
    if (variables[flag] === undefined && named.length === 0 && of.length === 0) continue;
    return { agent, session_id: named[0] ?? null, pid: of[0] ? Number(of[0]) : null };
  }
  return null;
}

/** The names of all variables that may name an agent or its session. No other is ever read. */
export function markNames(agents: readonly Agent[]): Set<string> {
  return new Set(agents.flatMap(({ marks }) => [marks.flag, ...marks.session, ...marks.pid]));
}
