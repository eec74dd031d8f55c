import { maskSecrets } from "../audit/secrets.ts";
import type { ListeningPort, RunningProcess } from "../runtime/process_list.ts";
import type { RecordFacts } from "./agents/agent.ts";
import { statusOfCall } from "./open_calls.ts";
import type { AgentSession, AgentStatus, ChildProcess, RateLimits } from "./schema.ts";
import type { LiveSession } from "./sessions.ts";

/** The facts that are shown beside the session's own. */
export interface Beside {
  project_id: string | null;
  held: AgentSession["held"];
  git: AgentSession["git"];
  children: ChildProcess[];
  shows_texts: boolean;
  running: ReadonlyMap<number, RunningProcess>;
  /** The processes below the session's own. */
  below: readonly RunningProcess[];
  now: number;
}

/** The session as the API shows it. */
export function showSession(session: LiveSession, beside: Beside): AgentSession {
  const { agent, owner, known, is_complete } = session;
  const { children, now } = beside;
  const { context, cost_usd } = known;
  const state = statusOf(session, beside);
  return {
    session_id: session.session_id,
    agent: agent.id,
    name: agent.name,
    pid: owner?.pid ?? null,
    started_at: dateOf(session.started_at ?? known.started_at),
    // A record of a machine whose clock is wrong may name a later time.
    last_activity_at: dateOf(known.last_at === null ? null : Math.min(known.last_at, now)),
    project_id: beside.project_id,
    cwd: session.cwd ?? known.cwd,
    model: known.model,
    version: session.version ?? known.version,
    ...state,
    held: beside.held,
    tokens: known.tokens,
    tokens_complete: is_complete,
    context: context && { ...context, percent: percentOf(context) },
    cost_usd,
    cost_source: cost_usd === null ? "unavailable" : "recorded",
    turns: known.turns,
    // A record may end within a call that the agent has given up.
    current_task: BUSY.has(state.status) ? known.current_task : null,
    subagents: known.subagents?.map(({ id, type, last_at }) => ({
      ...{ id, type },
      status: last_at !== null && now - last_at <= ACTIVE_MS ? "working" : "idle",
    })) ?? null,
    title: beside.shows_texts && known.title !== null ? maskSecrets(known.title) : null,
    git: beside.git ??
      (known.branch === null ? null : { branch: known.branch, changed_files: null }),
    children,
    ports: children.flatMap(({ ports }) => ports),
    memory_bytes: sumOf([
      owner?.memory_bytes ?? null,
      ...children.map((one) => one.memory_bytes),
    ]),
  };
}

const BUSY = new Set<AgentStatus>(["working", "waiting_approval", "waiting_input"]);

/** The record of a subagent that works grows within this time. */
const ACTIVE_MS = 30_000;

/** A state that a record told longer ago than this may have changed unnoticed. */
const FRESH_MS = 5 * 60_000;

/** The state of a session by its best source: the gate itself, the agent's registry, its record. */
function statusOf(
  { status: registered, known, owner }: LiveSession,
  { held, now, running, below }: Beside,
): Pick<AgentSession, "status" | "status_source" | "stale"> {
  if (held) return { status: "waiting_approval", status_source: "gate", stale: false };
  if (known.status === "rate_limited" && registered !== "working") {
    return { status: "rate_limited", status_source: "transcript", stale: false };
  }
  if (registered) return { status: registered, status_source: "registry", stale: false };
  const call = known.open_call;
  const waiting = call === null ? null : statusOfCall(call, { owner, running, below, now });
  if (waiting !== null) return { ...waiting, stale: false };
  if (known.status === null) return { status: "unknown", status_source: "process", stale: false };
  const age = now - (known.last_at ?? 0);
  const stale = known.status === "working" && age > FRESH_MS;
  return { status: living(known.status), status_source: "transcript", stale };
}

/** A session whose process lives has not ended, whatever its record says. */
function living(status: AgentStatus): AgentStatus {
  return status === "done" ? "idle" : status;
}

const MOST_COMMAND = 200;

/** A process for people, with the ports on which it listens. */
export function showProcess(
  { pid, argv, memory_bytes }: RunningProcess,
  ports: readonly ListeningPort[],
): ChildProcess {
  const line = maskSecrets(argv.join(" ").slice(0, 4_096));
  const command = line.length > MOST_COMMAND ? `${line.slice(0, MOST_COMMAND)}…` : line;
  return {
    pid,
    command: command.toWellFormed(),
    memory_bytes,
    ports: ports.map(({ port, address, family }) => ({ port, address, family })),
  };
}

const FRESH_LIMITS_MS = 10 * 60_000;

/** The rate limits of one agent, from the newest record that tells them. */
export function showLimits(
  agent: { id: string; name: string; no_limits: string | null },
  newest: RecordFacts["limits"],
  now: number,
): RateLimits {
  const { id, name, no_limits } = agent;
  if (newest === null) {
    const reason = no_limits ?? `No session of the last days has reported them; start ${name}`;
    return {
      ...{ agent: id, name, status: "unavailable", reason },
      ...{ updated_at: null, stale: false, limits: [] },
    };
  }
  return {
    ...{ agent: id, name, status: "known", reason: null },
    updated_at: dateOf(newest.at),
    stale: now - (newest.at ?? 0) > FRESH_LIMITS_MS,
    limits: newest.limits.map((limit) => {
      const isReset = limit.resets_at !== null && limit.resets_at <= now;
      return {
        ...limit,
        used_percent: isReset ? null : limit.used_percent,
        resets_at: isReset ? null : dateOf(limit.resets_at),
      };
    }),
  };
}

export function dateOf(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}

function percentOf({ used, window }: { used: number; window: number | null }): number | null {
  return window === null ? null : Math.round(used / window * 1000) / 10;
}

function sumOf(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0);
}
