import { realpath } from "node:fs/promises";
import { isAbsolute } from "node:path";
import type { Caller } from "../auth/schema.ts";
import { requireReviewer } from "../auth/scopes.ts";
import type { Database } from "../db/database.ts";
import type { NewEvent } from "../db/ledger.ts";
import type { Environment } from "../environment.ts";
import { GateError } from "../errors.ts";
import type { ListeningPort, ProcessList, RunningProcess } from "../runtime/process_list.ts";
import type { Agent, LimitFacts } from "./agents/agent.ts";
import { GitStates } from "./git_states.ts";
import type { HeldAction, Holder } from "./held.ts";
import {
  groupByProcess,
  type LeftPort,
  type Mark,
  markNames,
  markOf,
  type OwnedPort,
  sortPorts,
  unownedListeners,
} from "./ports.ts";
import type {
  AgentHistoryQuery,
  AgentPorts,
  AgentSession,
  AgentSessionQuery,
  AgentSnapshot,
  ChildPort,
  EndedSession,
  OrphanPort,
  RateLimits,
  Terminated,
  TerminateInput,
} from "./schema.ts";
import { type LiveSession, SessionFinder } from "./sessions.ts";
import {
  insertEnded,
  listEnded,
  listTracked,
  pruneEnded,
  putTracked,
  removeTracked,
  type TrackedPort,
} from "./store.ts";
import type { MonitorSettings } from "./settings.ts";
import { terminate, type Terminator } from "./terminate.ts";
import { dateOf, showLimits, showProcess, showSession } from "./view.ts";

/** The sources and settings of the monitor. */
export interface MonitorOptions {
  agents: readonly Agent[];
  processes: ProcessList;
  terminator: Terminator;
  registry: Database;
  /** The home folder of the person. */
  home: string;
  env: Record<string, string | undefined>;
  own: { pid: number; uid: number | null };
  now: () => number;
  log: Environment["log"];
  listRoots(): Promise<{ id: string; roots: string[] }[]>;
  listHeld(): Promise<HeldAction[]>;
  /** The agent session that holds a session of gate; null if unknown. @throws GateError `not_found` */
  holderOf(gate_session: string): Promise<Holder | null>;
  settings(): Promise<MonitorSettings>;
  /** Commits an audit event to the ledger of a project, or of the machine. */
  record(project_id: string | null, event: NewEvent): Promise<void>;
  /** The limits that an agent passed to gate's own status line. */
  statusLimits(agent: string): Promise<LimitFacts | null>;
  /** Tells the clients that something changed. */
  publish(): void;
}

const ROUND_MS = 2_000;
const PORTS_MS = 10_000;
/** Without a reader a round once a minute keeps the history. */
const REST_MS = 60_000;
/** A client that asked within this time is still there. */
const WATCHED_MS = 30_000;
/** A request is answered from a round that is at most this old. */
const FRESH_MS = 1_000;
/** A server may be started again, or its session resumed, within this time. */
const GRACE_MS = 10_000;
const MOST_HISTORY = 10_000;
const MOST_CHILDREN = 50;

/** One round: everything that was seen at one time. */
interface Round {
  at: number;
  snapshot: AgentSnapshot;
  running: Running;
}

/** The processes by pid. */
type Running = ReadonlyMap<number, { ppid: number }>;

/** Watches the coding agents of this machine. Rests while nobody looks. */
export class AgentMonitor {
  readonly #options: MonitorOptions;
  readonly #finder: SessionFinder;
  readonly #git = new GitStates();
  readonly #marks = new Map<string, Mark | null>();
  /** Sessions of the last rounds by key; `missed` counts the rounds without one. */
  #live = new Map<string, { session: LiveSession; shown: AgentSession; missed: number }>();
  /** When sessions ended, for the grace of their ports. */
  readonly #ended = new Map<string, number>();
  readonly #first_left = new Map<string, number>();
  #tracked: TrackedPort[] | null = null;
  #ports: { at: number; listening: Awaited<ReturnType<ProcessList["listening"]>> } | null = null;
  #last: Round | null = null;
  #looking: Promise<Round> | null = null;
  #asked_at = -Infinity;
  /** The states that the clients know, as JSON; "" before the first round. */
  #published = "";
  #timer: ReturnType<typeof setTimeout> | null = null;
  #isFollowed: () => boolean = () => false;
  #isClosed = false;

  constructor(options: MonitorOptions) {
    this.#options = options;
    const { agents, processes, home, env, own, now } = options;
    this.#finder = new SessionFinder({ agents, processes, home, env, own_uid: own.uid, now });
  }

  /** Begins the rounds. `isFollowed` tells whether a client follows the topic `agents`. */
  start(isFollowed: () => boolean): void {
    this.#isFollowed = isFollowed;
    this.#plan(REST_MS);
  }

  /** Ends the rounds; waits for a running one. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#looking?.catch(() => {});
    await this.#finder.close();
  }

  /** Everything that is known now. */
  async snapshot(): Promise<AgentSnapshot> {
    return (await this.#currentRound()).snapshot;
  }

  /** The live sessions that fit the query. @throws GateError `not_found`, `invalid` */
  async list(query: AgentSessionQuery) {
    this.#checkAgent(query.agent);
    if (query.cwd !== undefined && (!isAbsolute(query.cwd) || query.cwd.includes("\0"))) {
      throw new GateError(
        "invalid",
        `Cannot list the sessions of the folder "${query.cwd}": it is no absolute path`,
      );
    }
    const { snapshot: { sessions }, running } = await this.#currentRound();
    const holder = query.gate_session === undefined
      ? undefined
      : await this.#options.holderOf(query.gate_session);
    const roots = await this.#options.listRoots();
    const asked = query.project ?? (query.cwd === undefined ? null : projectAt(query.cwd, roots));
    if (query.project !== undefined && !roots.some(({ id }) => id === query.project)) {
      throw new GateError(
        "not_found",
        `Cannot find project "${query.project}": it is not registered`,
        { next: "gate project list" },
      );
    }
    const isBound = query.project !== undefined || query.cwd !== undefined;
    const scope = query.scope ?? (isBound ? "project" : "all");
    if (scope === "project" && !isBound) {
      throw new GateError(
        "invalid",
        'Cannot list the sessions of a project: none is named; add "project" or "cwd"',
      );
    }
    const items = sessions.filter(({ agent, status, project_id, session_id, pid }) =>
      (holder === undefined ||
        (holder !== null && isOf(holder, { agent, session_id, pid }, running))) &&
      (query.agent === undefined || agent === query.agent) &&
      (query.status === undefined || status === query.status) &&
      (scope === "all" || (asked !== null && project_id === asked))
    );
    return { items, scope, project_id: scope === "all" ? null : asked };
  }

  /** A live session. @throws GateError `not_found` */
  async get(id: string): Promise<AgentSession> {
    const { snapshot: { sessions } } = await this.#currentRound();
    const found = sessions.find(({ session_id }) => session_id === id);
    if (found) return found;
    throw new GateError(
      "not_found",
      `Cannot find the agent session "${id}": it has ended or never was`,
      { next: "gate agents" },
    );
  }

  /** The ports on which agents' processes listen, with those whose session has ended. */
  async ports(): Promise<AgentPorts> {
    const { child_ports, orphan_ports } = (await this.#currentRound()).snapshot;
    return { child_ports, orphan_ports };
  }

  /** The newest known limits of each agent. */
  async rateLimits(): Promise<{ items: RateLimits[] }> {
    return { items: (await this.#currentRound()).snapshot.rate_limits };
  }

  /** The sessions that ended, the newest first. @throws GateError `invalid` for an unknown agent */
  async history({ limit = 50, agent }: AgentHistoryQuery): Promise<{ items: EndedSession[] }> {
    this.#checkAgent(agent);
    return { items: await listEnded(this.#options.registry, { limit, agent }) };
  }

  /** Ends a process that is an orphan now. @throws GateError `not_found`, `identity_changed` … */
  async terminate(pid: string, input: TerminateInput, caller: Caller): Promise<Terminated> {
    requireReviewer(caller, "terminate the process", null);
    const { processes, terminator, own, record } = this.#options;
    const before = this.#last?.snapshot.orphan_ports ?? [];
    this.#ports = null;
    const { snapshot: { orphan_ports: orphans } } = await this.#startRound();
    const result = await terminate(pid, input, {
      ...{ processes, terminator, own_pid: own.pid },
      ...{ before, orphans },
    });
    const { row, ...answer } = result;
    const { command, start_time, agent, session_id } = row;
    await record(row.project_id, {
      session_id: null,
      action_id: null,
      type: "monitor.terminated",
      actor: { kind: "reviewer", id: caller.id },
      data: { ...answer, command, start_time, agent, agent_session: session_id },
    });
    this.#ports = null;
    this.#last = null;
    return answer;
  }

  #checkAgent(id: string | undefined): void {
    const known = this.#options.agents.map((agent) => agent.id);
    if (id === undefined || known.includes(id)) return;
    throw new GateError(
      "invalid",
      `Cannot list the sessions of "${id}": gate watches ${known.join(", ")}`,
    );
  }

  /** The last round if it is fresh, else a new one. Counts as a client that looks. */
  #currentRound(): Promise<Round> {
    const { now } = this.#options;
    this.#asked_at = now();
    if (this.#last !== null && now() - this.#last.at < FRESH_MS) return Promise.resolve(this.#last);
    return this.#looking ?? this.#startRound();
  }

  /** Replaces the timer of the next round. */
  #plan(ms: number): void {
    if (this.#isClosed) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#runRound(), ms);
    this.#timer.unref?.();
  }

  async #runRound(): Promise<void> {
    const { log } = this.#options;
    try {
      await (this.#looking ?? this.#startRound());
    } catch (error) {
      log("warn", "Cannot look at the agents", { error: String(error) });
    }
    this.#plan(this.#isWatched() ? ROUND_MS : REST_MS);
  }

  #isWatched(): boolean {
    return this.#options.now() - this.#asked_at < WATCHED_MS || this.#isFollowed();
  }

  #startRound(): Promise<Round> {
    this.#looking = this.#readRound().finally(() => this.#looking = null);
    if (this.#timer !== null) this.#plan(ROUND_MS);
    return this.#looking;
  }

  /** Reads the processes, sessions and ports, updates the history, and publishes changes. */
  async #readRound(): Promise<Round> {
    const { agents, processes, now, own, listRoots, listHeld, settings } = this.#options;
    const at = now();
    const [{ sessions, running }, roots, held, allowed] = await Promise.all([
      this.#finder.look(),
      listRoots(),
      listHeld(),
      settings(),
    ]);
    const folders = [...new Set(sessions.flatMap(({ cwd }) => cwd ?? []))];
    const listening = await this.#readPorts(folders, at);
    const places = await projectsAt(folders, roots);
    const projectOf = ({ cwd }: LiveSession) => cwd === null ? null : places.get(cwd) ?? null;
    const about = {
      ...{ agents, sessions, running, listening, own_pid: own.pid, own_uid: own.uid },
    };
    const marks = allowed.reads_environment
      ? await this.#readMarks(unownedListeners(about))
      : new Map<number, Mark>();
    this.#tracked ??= await listTracked(this.#options.registry, processes.machine.boot_id);
    const { children, left } = sortPorts({ ...about, marks, tracked: this.#tracked, projectOf });
    const { shows_texts } = allowed;
    const byParent = groupBy([...running.values()], ({ ppid }) => ppid);
    const portsOf = groupByProcess(listening);
    const shown = sessions.map((session) => {
      const below = processesBelow(session, byParent);
      return showSession(session, {
        project_id: projectOf(session),
        held: heldBy(session, held, running),
        git: session.cwd === null ? null : this.#git.of(session.cwd),
        children: childrenOf(session, { children, portsOf, below }),
        ...{ shows_texts, running, below, now: at },
      });
    });
    await this.#noteEnded(sessions, shown, at);
    await this.#track(children, at);
    const snapshot: AgentSnapshot = {
      generated_at: dateOf(at)!,
      shows_texts,
      sessions: shown,
      rate_limits: await this.#limits(sessions, at),
      child_ports: children.map(toChildPort),
      orphan_ports: this.#orphans(left, at),
      mcp_servers: shown.flatMap(({ agent, session_id, children }) =>
        children.filter(({ command }) => MCP.test(command))
          .map(({ pid, command }) => ({ pid, command, agent, session_id }))
      ),
    };
    this.#last = { at, snapshot, running };
    this.#publishIfChanged(snapshot);
    return this.#last;
  }

  /** The listening ports, which are read every PORTS_MS together with the state of git. */
  async #readPorts(folders: string[], at: number): Promise<ListeningPort[]> {
    if (this.#ports === null || at - this.#ports.at >= PORTS_MS) {
      this.#ports = { at, listening: await this.#options.processes.listening() };
      await this.#git.refresh(folders, at);
    }
    return this.#ports.listening;
  }

  /** The marks of agents in the environment of these processes, by pid. Reads each process once. */
  async #readMarks(processes: readonly { pid: number; start_time: string }[]) {
    const { agents, processes: list } = this.#options;
    const marks = new Map<number, Mark>();
    const names = markNames(agents);
    const keys = new Set<string>();
    for (const { pid, start_time } of processes) {
      const key = identityOf({ pid, start_time });
      keys.add(key);
      if (!this.#marks.has(key)) {
        this.#marks.set(key, markOf(await list.variablesOf(pid, names), agents));
      }
      const mark = this.#marks.get(key);
      if (mark) marks.set(pid, mark);
    }
    for (const key of this.#marks.keys()) if (!keys.has(key)) this.#marks.delete(key);
    return marks;
  }

  /** Writes a session to the history once two rounds did not find it. */
  async #noteEnded(sessions: LiveSession[], shown: AgentSession[], at: number): Promise<void> {
    const live = new Map(sessions.map((session, i) => [
      keyOf(session.agent.id, session.session_id),
      { session, shown: shown[i]!, missed: 0 },
    ]));
    for (const [key, before] of this.#live) {
      if (live.has(key)) continue;
      // The end of a session begins the grace of its ports, also before it is sure.
      if (!this.#ended.has(key)) this.#ended.set(key, at);
      if (before.missed === 0) live.set(key, { ...before, missed: 1 });
      else await this.#addToHistory(before.session, before.shown, this.#ended.get(key)!);
    }
    for (const [key, { missed }] of live) if (missed === 0) this.#ended.delete(key);
    this.#live = live;
    if (this.#ended.size > MOST_HISTORY) this.#ended.clear();
  }

  async #addToHistory(session: LiveSession, shown: AgentSession, at: number): Promise<void> {
    // A process alone is no session that anybody could find again.
    if (session.session_id.startsWith("process-")) return;
    const exited = await session.hasExited?.();
    const ended: EndedSession = {
      session_id: shown.session_id,
      agent: shown.agent,
      name: shown.name,
      project_id: shown.project_id,
      cwd: shown.cwd,
      model: shown.model,
      started_at: shown.started_at,
      tokens: shown.tokens,
      cost_usd: shown.cost_usd,
      cost_source: shown.cost_source,
      turns: shown.turns,
      ended_at: dateOf(at)!,
      end_reason: exited === undefined ? "unknown" : exited ? "exit" : "killed",
    };
    await this.#options.registry.batch([insertEnded(ended), pruneEnded(MOST_HISTORY)]);
  }

  /** Remembers the listening children, so that they are known when their session has ended. */
  async #track(children: readonly OwnedPort[], at: number): Promise<void> {
    const { processes, registry } = this.#options;
    const { boot_id } = processes.machine;
    const before = new Map(this.#tracked?.map((row) => [identityOf(row), row]));
    const rows = new Map(
      children.map(({ owner, ports, agent, session_id, project_id }): [string, TrackedPort] => {
        const { pid, start_time } = owner;
        const key = identityOf(owner);
        return [key, {
          ...{ pid, start_time, boot_id, agent: agent.id, session_id, project_id },
          ports: ports.map(({ port }) => port),
          first_seen_at: before.get(key)?.first_seen_at ?? dateOf(at)!,
        }];
      }),
    );
    const isSame = (row: TrackedPort, known?: TrackedPort) =>
      known !== undefined && JSON.stringify(row) === JSON.stringify(known);
    const changed = [...rows].filter(([key, row]) => !isSame(row, before.get(key)));
    const others = [...before].filter(([key]) => !rows.has(key)).map(([, row]) => row);
    const gone = new Set(others.filter((row) => !this.#isRunning(row)));
    this.#tracked = [...rows.values(), ...others.filter((row) => !gone.has(row))];
    if (changed.length + gone.size === 0) return;
    await registry.batch([
      ...changed.map(([, row]) => putTracked(row)),
      ...[...gone].map(removeTracked),
    ]);
  }

  #isRunning({ pid, ports }: TrackedPort): boolean {
    return this.#ports!.listening.some((one) => one.pid === pid && ports.includes(one.port));
  }

  /** The left ports whose session has been gone for the whole grace. */
  #orphans(left: readonly LeftPort[], at: number): OrphanPort[] {
    const keys = new Set<string>();
    const orphans = left.flatMap((one) => {
      const key = identityOf(one.owner);
      keys.add(key);
      if (!this.#first_left.has(key)) this.#first_left.set(key, at);
      const first = this.#first_left.get(key)!;
      const ended = this.#ended.get(keyOf(one.agent.id, one.session_id)) ?? first;
      if (at - Math.min(ended, first) < GRACE_MS) return [];
      return [{
        ...toChildPort(one),
        start_time: one.owner.start_time,
        found_by: one.found_by,
        first_seen_at: dateOf(first)!,
      }];
    });
    for (const key of this.#first_left.keys()) if (!keys.has(key)) this.#first_left.delete(key);
    return orphans;
  }

  async #limits(sessions: readonly LiveSession[], at: number): Promise<RateLimits[]> {
    const { agents, statusLimits } = this.#options;
    return await Promise.all(agents.map(async (agent) => {
      const told = sessions.filter((one) => one.agent.id === agent.id)
        .flatMap(({ known }) => known.limits ?? []);
      const newest = [...told, await statusLimits(agent.id) ?? []].flat()
        .toSorted((a, b) => (b.at ?? 0) - (a.at ?? 0))[0] ?? null;
      return showLimits(agent, newest, at);
    }));
  }

  /** Tells the clients about a snapshot that differs from the last one in more than memory. */
  #publishIfChanged({ sessions, orphan_ports }: AgentSnapshot): void {
    const states = sessions.map(({ memory_bytes: _m, children, ...rest }) => ({
      ...rest,
      children: children.map(({ pid, ports }) => ({ pid, ports })),
    }));
    const known = JSON.stringify([states, orphan_ports.map(({ pid }) => pid)]);
    if (known === this.#published) return;
    const isFirst = this.#published === "";
    this.#published = known;
    if (!isFirst) this.#options.publish();
  }
}

/** A program or an argument that is named after the protocol. */
const MCP = /(?:^|[\s/@_-])mcp(?:$|[\s/._-])/i;

function keyOf(agent: string, session_id: string): string {
  return `${agent} ${session_id}`;
}

function identityOf({ pid, start_time }: { pid: number; start_time: string }): string {
  return `${pid} ${start_time}`;
}

function toChildPort({ owner, ports, agent, session_id, project_id }: OwnedPort): ChildPort {
  return { ...showProcess(owner, ports), agent: agent.id, session_id, project_id };
}

/** The projects of these folders, after their links are resolved; null outside of every root. */
async function projectsAt(
  folders: readonly string[],
  all: readonly { id: string; roots: string[] }[],
): Promise<Map<string, string | null>> {
  return new Map(
    await Promise.all(
      folders.map(async (folder) =>
        [folder, projectAt(await realpath(folder).catch(() => folder), all)] as const
      ),
    ),
  );
}

/** The project with the longest root that holds the folder; null without one. */
function projectAt(folder: string, all: readonly { id: string; roots: string[] }[]): string | null {
  let best: { id: string; length: number } | null = null;
  for (const { id, roots } of all) {
    for (const root of roots) {
      const holds = folder === root || folder.startsWith(root.endsWith("/") ? root : `${root}/`);
      if (holds && root.length > (best?.length ?? 0)) best = { id, length: root.length };
    }
  }
  return best?.id ?? null;
}

function heldBy(
  session: LiveSession,
  held: readonly HeldAction[],
  running: Running,
): AgentSession["held"] {
  const { agent: { id: agent }, session_id, owner } = session;
  const found = held.find((one) =>
    isOf(one, { agent, session_id, pid: owner?.pid ?? null }, running)
  );
  return found ? { project_id: found.project_id, action_id: found.action_id } : null;
}

/** Whether a session of gate is this agent's: by the host's name for it, or by its process. */
function isOf(
  holder: Holder,
  { agent, session_id, pid: own }: Pick<AgentSession, "agent" | "session_id" | "pid">,
  running: Running,
): boolean {
  if (holder.host !== agent) return false;
  if (holder.isOf(session_id)) return true;
  for (let at = holder.pid, left = 16; at !== null && own !== null && left > 0; left--) {
    if (at === own) return true;
    at = running.get(at)?.ppid ?? null;
  }
  return false;
}

/** The processes that descend from the session's own. */
function processesBelow(
  { owner }: LiveSession,
  byParent: ReadonlyMap<number, RunningProcess[]>,
): RunningProcess[] {
  const below = new Map<number, RunningProcess>();
  for (const queue = owner ? [owner.pid] : []; queue.length > 0;) {
    for (const one of byParent.get(queue.pop()!) ?? []) {
      if (below.has(one.pid) || one.pid === owner?.pid) continue;
      below.set(one.pid, one);
      queue.push(one.pid);
    }
  }
  return [...below.values()];
}

/** The processes below the session's own, and listening ones that left it but name it. */
function childrenOf(
  session: LiveSession,
  { children, portsOf, below }: {
    children: readonly OwnedPort[];
    portsOf: ReadonlyMap<number, ListeningPort[]>;
    below: readonly RunningProcess[];
  },
): AgentSession["children"] {
  const all = new Map(below.map((one) => [one.pid, one]));
  for (const { agent, session_id, owner } of children) {
    const isOwn = agent.id === session.agent.id && session_id === session.session_id;
    if (isOwn) all.set(owner.pid, owner);
  }
  return [...all.values()].slice(0, MOST_CHILDREN).map((one) =>
    showProcess(one, portsOf.get(one.pid) ?? [])
  );
}

function groupBy<T, K>(items: readonly T[], keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}
