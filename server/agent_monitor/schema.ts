import { z } from "zod";

/** The present state of a session. `done` sessions are in the history only. */
export const AgentStatus = z.enum([
  "working",
  "waiting_approval",
  "waiting_input",
  "idle",
  "rate_limited",
  "unknown",
  "done",
]);
export type AgentStatus = z.infer<typeof AgentStatus>;

/** Tokens of a session. The first four never overlap; `output` includes reasoning. */
export const Tokens = z.object({
  input: z.number().int().describe("without those read from a cache"),
  output: z.number().int(),
  cache_read: z.number().int(),
  cache_write: z.number().int(),
  total: z.number().int(),
});
export type Tokens = z.infer<typeof Tokens>;

/** A TCP port on which a process listens. */
export const Port = z.object({
  port: z.number().int(),
  address: z.string(),
  family: z.union([z.literal(4), z.literal(6)]),
});

/** A process that an agent's session started, itself or through others. */
export const ChildProcess = z.object({
  pid: z.number().int(),
  command: z.string().describe("secrets are masked, long ones are cut"),
  memory_bytes: z.number().int().nullable(),
  ports: z.array(Port),
});
export type ChildProcess = z.infer<typeof ChildProcess>;

/** One session of a coding agent on this machine. A value that gate cannot know is null. */
export const AgentSession = z.object({
  session_id: z.string().describe("the agent's own id; process-<pid> if only its process is known"),
  agent: z.string().describe("platform id of the agent's host"),
  name: z.string().describe("the host's name for people"),
  pid: z.number().int().nullable(),
  started_at: z.iso.datetime().nullable(),
  last_activity_at: z.iso.datetime().nullable(),
  project_id: z.string().nullable().describe(
    "the registered project with the longest root above cwd",
  ),
  cwd: z.string().nullable(),
  model: z.string().nullable(),
  version: z.string().nullable(),
  status: AgentStatus,
  status_source: z.enum(["gate", "registry", "transcript", "process"]).describe(
    "`gate`: it holds an action; `registry`: the agent's own list; `transcript`: its record; " +
      "`process`: its processes, such as an open tool call that no process runs",
  ),
  stale: z.boolean().describe("true if the source may be older than the state"),
  held: z.object({ project_id: z.string(), action_id: z.string() }).nullable()
    .describe("the action of this session that gate holds for a person"),
  tokens: Tokens.nullable(),
  tokens_complete: z.boolean().describe(
    "false while gate still reads the older part of the record",
  ),
  context: z.object({
    used: z.number().int(),
    window: z.number().int().nullable(),
    percent: z.number().nullable(),
  }).nullable(),
  cost_usd: z.number().nullable(),
  cost_source: z.enum(["recorded", "unavailable"]).describe("`recorded`: by the agent itself"),
  turns: z.number().int().nullable().describe("requests of the person"),
  current_task: z.string().nullable().describe("the tool that runs"),
  subagents: z.array(z.object({
    id: z.string(),
    type: z.string().nullable(),
    status: z.enum(["working", "idle"]).describe("`working`: its record grew in the last 30 s"),
  })).nullable().describe("agents that the session started; null if its records do not tell"),
  title: z.string().nullable().describe("the first request; only if the config allows it"),
  git: z.object({
    branch: z.string().nullable(),
    changed_files: z.number().int().nullable(),
  }).nullable(),
  children: z.array(ChildProcess),
  ports: z.array(Port).describe("of the session and its child processes"),
  memory_bytes: z.number().int().nullable().describe("of the session and its child processes"),
});
export type AgentSession = z.infer<typeof AgentSession>;

/** The rate limits of one agent, as its own files tell them. */
export const RateLimits = z.object({
  agent: z.string(),
  name: z.string(),
  status: z.enum(["known", "unavailable"]),
  reason: z.string().nullable().describe("why they are unavailable"),
  updated_at: z.iso.datetime().nullable(),
  stale: z.boolean(),
  limits: z.array(z.object({
    id: z.string(),
    window_minutes: z.number().int().nullable(),
    used_percent: z.number().nullable().describe("null after the window was reset"),
    resets_at: z.iso.datetime().nullable(),
  })),
});
export type RateLimits = z.infer<typeof RateLimits>;

/** A process of a live session that listens on ports. */
export const ChildPort = ChildProcess.extend({
  agent: z.string(),
  session_id: z.string(),
  project_id: z.string().nullable(),
});
export type ChildPort = z.infer<typeof ChildPort>;

/** A process that still listens although the session that started it has ended. */
export const OrphanPort = ChildPort.extend({
  start_time: z.string().describe("tells the process from a later one with its pid"),
  found_by: z.enum(["tracked", "marked"]).describe(
    "`tracked`: seen as a child of the session; `marked`: its environment names the session",
  ),
  first_seen_at: z.iso.datetime(),
});
export type OrphanPort = z.infer<typeof OrphanPort>;

/** `GET /api/agent-monitor/ports`. */
export const AgentPorts = z.object({
  child_ports: z.array(ChildPort),
  orphan_ports: z.array(OrphanPort),
});
export type AgentPorts = z.infer<typeof AgentPorts>;

/** `GET /api/agent-monitor/snapshot`. */
export const AgentSnapshot = AgentPorts.extend({
  generated_at: z.iso.datetime(),
  shows_texts: z.boolean().describe("whether the config lets sessions show their first request"),
  sessions: z.array(AgentSession),
  rate_limits: z.array(RateLimits),
  mcp_servers: z.array(z.object({
    pid: z.number().int(),
    command: z.string(),
    agent: z.string(),
    session_id: z.string(),
  })).describe("child processes of sessions that look like MCP servers"),
});
export type AgentSnapshot = z.infer<typeof AgentSnapshot>;

const agent = z.string().min(1).max(256).optional();

/** Query of `GET /api/agent-monitor/sessions`. */
export const AgentSessionQuery = z.object({
  agent,
  status: AgentStatus.optional(),
  scope: z.enum(["project", "all"]).optional()
    .describe(
      "`project`: those whose folder lies in the project; default, unless cwd and project are absent",
    ),
  project: z.string().max(256).optional(),
  cwd: z.string().max(4096).optional().describe("a folder of the project"),
  gate_session: z.string().min(1).max(256).optional()
    .describe("id of a session of gate: only the agent's session that made its actions"),
});
export type AgentSessionQuery = z.infer<typeof AgentSessionQuery>;

/** `GET /api/agent-monitor/sessions`. */
export const AgentSessionList = z.object({
  items: z.array(AgentSession),
  scope: z.enum(["project", "all"]),
  project_id: z.string().nullable(),
});

/** A session that has ended. */
export const EndedSession = AgentSession.pick({
  session_id: true,
  agent: true,
  name: true,
  project_id: true,
  cwd: true,
  model: true,
  started_at: true,
  tokens: true,
  cost_usd: true,
  cost_source: true,
  turns: true,
}).extend({
  ended_at: z.iso.datetime(),
  end_reason: z.enum(["exit", "killed", "unknown"]),
});
export type EndedSession = z.infer<typeof EndedSession>;

/** Query of `GET /api/agent-monitor/history`. */
export const AgentHistoryQuery = z.object({
  limit: z.coerce.number().int().min(1).max(500).optional(),
  agent,
});
export type AgentHistoryQuery = z.infer<typeof AgentHistoryQuery>;

/** Body of `DELETE /api/agent-monitor/ports/:pid`. */
export const TerminateInput = z.strictObject({
  start_time: z.string().max(256).optional().describe(
    "`start_time` of the row that the person saw",
  ),
});
export type TerminateInput = z.infer<typeof TerminateInput>;

/** Answer of `DELETE /api/agent-monitor/ports/:pid`. */
export const Terminated = z.object({
  pid: z.number().int(),
  ports: z.array(z.number().int()),
  signal: z.enum(["SIGTERM", "SIGKILL"]).nullable(),
  outcome: z.enum(["terminated", "killed", "already_exited", "still_running"]),
  waited_ms: z.number().int(),
  still_listening_pids: z.array(z.number().int()).describe("other processes on the same ports"),
});
export type Terminated = z.infer<typeof Terminated>;
