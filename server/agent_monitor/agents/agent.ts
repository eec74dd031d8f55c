import type { RunningProcess } from "../../runtime/process_list.ts";
import type { AgentStatus, Tokens } from "../schema.ts";

/** One coding agent: how gate finds its sessions, and how it reads their records. */
export interface Agent {
  /** Platform id of its host record. */
  id: string;
  /** Its name for people. */
  name: string;
  /** Names of its program, without an extension. */
  programs: readonly string[];
  /** First arguments with which the program is no session, such as `mcp-server`. */
  side_commands: readonly string[];
  /** Variables in the environment of its child processes that name the session or its process. */
  marks: { flag: string; session: readonly string[]; pid: readonly string[] };
  /** Finds the sessions that its files or its processes tell of. Never throws for a damaged file. */
  find(around: Around): Promise<FoundSession[]>;
  /** Why its rate limits are unavailable; null if its records tell them. */
  no_limits: string | null;
}

/** The surroundings in which an agent finds its sessions. */
export interface Around {
  /** The home folder of the person. */
  home: string;
  env: Record<string, string | undefined>;
  /** The running sessions' processes of this agent: of nested copies the innermost. */
  own: readonly AgentProcess[];
  /** Every running process by pid. */
  running: ReadonlyMap<number, RunningProcess>;
  machine: { boot_id: string; pid_namespace: string | null };
  /** The ids of the lock files that are held; null if unknown. */
  locked: ReadonlySet<string> | null;
  now: number;
}

/** A process whose program is an agent. */
export interface AgentProcess extends RunningProcess {
  cwd: string | null;
}

/** A session that was found, before its record is read. */
export interface FoundSession {
  session_id: string;
  /** Null if the agent's files do not name it and no process fits. */
  owner: RunningProcess | null;
  cwd: string | null;
  started_at: number | null;
  version: string | null;
  /** The state in the agent's own registry. */
  status: AgentStatus | null;
  /** The file that holds its record, and its reader. */
  record: RecordFile | null;
  /** Facts that are already known, of an agent whose record is no file of lines. */
  facts?: Partial<RecordFacts>;
  /** Tells whether the session ended in order, once it is no longer found. */
  hasExited?: () => Promise<boolean>;
}

/** A record of lines, each of which is one JSON object. */
export interface RecordFile {
  path: string;
  read: () => RecordReader;
}

/** Reads the lines of one record in order and sums up what they tell. */
export interface RecordReader {
  /** Whether a line that begins like this is long and tells nothing. */
  skips?(beginning: string): boolean;
  add(line: Record<string, unknown>): void;
  /** A line is too long to be read: it may hold the result of a call. */
  missed?(): void;
  facts(): RecordFacts;
}

/** The facts that a record tells about its session. */
export interface RecordFacts {
  cwd: string | null;
  model: string | null;
  version: string | null;
  branch: string | null;
  started_at: number | null;
  last_at: number | null;
  status: AgentStatus | null;
  /** The newest tool call without a result, if it waits for the person unless it runs. */
  open_call: OpenCall | null;
  tokens: Tokens | null;
  context: { used: number; window: number | null } | null;
  cost_usd: number | null;
  turns: number | null;
  current_task: string | null;
  title: string | null;
  limits: LimitFacts | null;
  /** Null if the agent's records do not tell. */
  subagents: Subagent[] | null;
}

/** A tool call that has no result yet. An agent records it before it asks its person. */
export interface OpenCall {
  /** The command that a process runs during the call; null if gate does not know one. */
  command: string | null;
  at: number | null;
  /** The state of the session while no process runs the call. */
  waits: "waiting_approval" | "waiting_input" | "unknown";
  /** The agent asks in any case, so no time needs to pass. */
  is_certain: boolean;
}

/** An agent that a session started for a part of its work. */
export interface Subagent {
  id: string;
  type: string | null;
  last_at: number | null;
}

/** The newest rate limits in a record. */
export interface LimitFacts {
  at: number | null;
  limits: {
    id: string;
    window_minutes: number | null;
    used_percent: number | null;
    resets_at: number | null;
  }[];
}

export const NO_FACTS: RecordFacts = {
  cwd: null,
  model: null,
  version: null,
  branch: null,
  started_at: null,
  last_at: null,
  status: null,
  open_call: null,
  tokens: null,
  context: null,
  cost_usd: null,
  turns: null,
  current_task: null,
  title: null,
  limits: null,
  subagents: null,
};

/** Notes the time of a line: the first one began the session, the latest one is its last. */
export function noteTime(facts: RecordFacts, time: unknown): number | null {
  const at = timeOf(time);
  facts.started_at ??= at;
  if (at !== null) facts.last_at = Math.max(facts.last_at ?? 0, at);
  return at;
}

/** The newest calls without a result, in their order. A record may begin calls and end none. */
export class OpenCalls<T> {
  readonly #calls = new Map<string, T>();

  begin(id: unknown, call: T): void {
    const key = keyOf(id);
    this.#calls.delete(key);
    this.#calls.set(key, call);
    if (this.#calls.size > MOST_OPEN) this.#calls.delete(this.#calls.keys().next().value!);
  }

  end(id: unknown): void {
    this.#calls.delete(keyOf(id));
  }

  clear(): void {
    this.#calls.clear();
  }

  get isEmpty(): boolean {
    return this.#calls.size === 0;
  }

  oldest(): T | null {
    return this.#calls.values().next().value ?? null;
  }

  newest(): T | null {
    return [...this.#calls.values()].at(-1) ?? null;
  }
}

/** More than an agent calls at once. */
const MOST_OPEN = 64;

/** The id as a key of bounded length. */
export function keyOf(id: unknown): string {
  return textOf(id, 128) ?? "";
}

/** A sum of tokens whose parts may be replaced: of two counts with one key the later one holds. */
export class TokenSum {
  readonly #sum = { input: 0, output: 0, cache_read: 0, cache_write: 0 };
  readonly #recent = new Map<string, Omit<Tokens, "total">>();
  #isEmpty = true;

  /** Adds the counts of one answer. An agent repeats them with each part of the answer. */
  add(key: string | null, counts: Omit<Tokens, "total">): void {
    this.#isEmpty = false;
    const before = key === null ? undefined : this.#recent.get(key);
    for (const name of PARTS) this.#sum[name] += counts[name] - (before?.[name] ?? 0);
    if (key === null) return;
    this.#recent.set(key, counts);
    if (this.#recent.size > RECENT) this.#recent.delete(this.#recent.keys().next().value!);
  }

  total(): Tokens | null {
    if (this.#isEmpty) return null;
    return { ...this.#sum, total: PARTS.reduce((sum, name) => sum + this.#sum[name], 0) };
  }
}

const PARTS = ["input", "output", "cache_read", "cache_write"] as const;
/** The parts of one answer follow each other closely. */
const RECENT = 256;

/** The number, or 0 for anything that is no count. */
export function countOf(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? Math.floor(value) : 0;
}

/** The milliseconds since 1970 of a time in a record; null if it is none. */
export function timeOf(value: unknown): number | null {
  const at = typeof value === "string"
    ? Date.parse(value)
    : typeof value === "number"
    ? value
    : NaN;
  return Number.isFinite(at) && at > 0 && at < LATEST ? at : null;
}

/** The last time that a date can hold. */
const LATEST = 8.64e15;

/** The object, or an empty one. */
export function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? value as Record<string, unknown>
    : {};
}

export function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The text, cut to `most` characters; null if it is empty or no text. */
export function textOf(value: unknown, most = 256): string | null {
  if (typeof value !== "string" || value === "") return null;
  // A copy, because a part of a string keeps the whole one in memory.
  return value.length > most ? Buffer.from(value.slice(0, most)).toString() : value.toWellFormed();
}
