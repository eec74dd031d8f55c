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

/** What an agent looks at to find its sessions. */
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
  /** What the agent's own registry says. */
  status: AgentStatus | null;
  /** The file that holds its record, and what reads it. */
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
  facts(): RecordFacts;
}

/** What a record tells about its session. */
export interface RecordFacts {
  cwd: string | null;
  model: string | null;
  version: string | null;
  branch: string | null;
  started_at: number | null;
  last_at: number | null;
  status: AgentStatus | null;
  tokens: Tokens | null;
  context: { used: number; window: number | null } | null;
  cost_usd: number | null;
  turns: number | null;
  current_task: string | null;
  title: string | null;
  limits: LimitFacts | null;
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
  tokens: null,
  context: null,
  cost_usd: null,
  turns: null,
  current_task: null,
  title: null,
  limits: null,
};

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
  return typeof value === "string" && value !== "" ? value.slice(0, most).toWellFormed() : null;
}
