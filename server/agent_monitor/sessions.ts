import type { ProcessList, RunningProcess } from "../runtime/process_list.ts";
import type { Agent, AgentProcess, FoundSession, RecordFacts } from "./agents/agent.ts";
import { NO_FACTS } from "./agents/agent.ts";
import { lineageOf, sessionsOf } from "./agents/programs.ts";
import { type Budget, RecordTail } from "./record_tail.ts";

/** A live session with everything that its agent and its process tell. */
export interface LiveSession extends FoundSession {
  agent: Agent;
  known: RecordFacts;
  is_complete: boolean;
}

/** The sessions and processes of one round. */
export interface Seen {
  sessions: LiveSession[];
  running: ReadonlyMap<number, RunningProcess>;
}

export interface FinderOptions {
  agents: readonly Agent[];
  processes: ProcessList;
  home: string;
  env: Record<string, string | undefined>;
  own_uid: number | null;
  now: () => number;
}

/** One round reads this much of records beside their newest lines. */
const ROUND_BYTES = 1024 * 1024;
const ROUND_MS = 10;
/** The facts of a process that still has its parent may be this old. */
const TOLERATED_MS = 6_000;

/** Finds the live sessions of all agents, round after round. Each record is read once. */
export class SessionFinder {
  readonly #options: FinderOptions;
  #tails = new Map<string, RecordTail>();

  constructor(options: FinderOptions) {
    this.#options = options;
  }

  async look(): Promise<Seen> {
    const { agents, processes, own_uid } = this.#options;
    const [all, locked] = await Promise.all([processes.all(TOLERATED_MS), processes.lockedFiles()]);
    const running = new Map(all.map((one) => [one.pid, one]));
    const mine = own_uid === null ? all : all.filter(({ uid }) => uid === own_uid);
    const own = agents.map((agent) => sessionsOf(mine, agent));
    const folders = await processes.foldersOf(own.flat().map(({ pid }) => pid));
    const found = await Promise.all(agents.map(async (agent, at) => {
      const candidates = own[at]!.map((one) => ({ ...one, cwd: folders.get(one.pid) ?? null }));
      const { home, env, now } = this.#options;
      const around = {
        ...{ home, env, own: candidates, running, locked },
        ...{ machine: processes.machine, now: now() },
      };
      const sessions = await agent.find(around);
      return [...sessions, ...unnamed(candidates, sessions, running)]
        .map((one) => ({ ...one, agent }));
    }));
    return { sessions: await this.#read(found.flat()), running };
  }

  async #read(found: (FoundSession & { agent: Agent })[]): Promise<LiveSession[]> {
    const budget: Budget = { bytes: ROUND_BYTES, ms: ROUND_MS };
    const tails = new Map<string, RecordTail>();
    const live: LiveSession[] = [];
    for (const session of found) {
      const { record } = session;
      const tail = record === null ? null : this.#tails.get(record.path) ?? new RecordTail(record);
      if (record && tail) tails.set(record.path, tail);
      await tail?.advance(budget);
      const known = { ...NO_FACTS, ...tail?.facts(), ...session.facts };
      live.push({ ...session, known, is_complete: tail?.isComplete ?? true });
    }
    for (const [path, tail] of this.#tails) if (!tails.has(path)) await tail.close();
    this.#tails = tails;
    return live;
  }

  /** Closes the records that are still open. */
  async close(): Promise<void> {
    await Promise.all([...this.#tails.values()].map((tail) => tail.close()));
  }
}

/** Processes of an agent that belong to none of its sessions. */
function unnamed(
  own: readonly AgentProcess[],
  found: readonly FoundSession[],
  running: ReadonlyMap<number, RunningProcess>,
): FoundSession[] {
  const named = new Set(found.flatMap(({ owner }) => owner?.pid ?? []));
  const above = new Set([...named].flatMap((pid) => [...lineageOf(pid, running)]));
  const isNamed = (pid: number) =>
    above.has(pid) || [...lineageOf(pid, running)].some((one) => named.has(one));
  return own.filter(({ pid }) => !isNamed(pid)).map((owner) => ({
    session_id: `process-${owner.pid}`,
    owner,
    cwd: owner.cwd,
    started_at: owner.started_at,
    version: null,
    status: null,
    record: null,
  }));
}
