import { z } from "zod";

/** The effect of a rule; the strictest of all that apply wins. */
export const Effect = z.enum(["allow", "ask", "deny"]);
export type Effect = z.infer<typeof Effect>;

/** A rule as written, with its list and the source of that list. */
export const Rule = z.object({
  pattern: z.string(),
  list: z.string().describe('the list that holds it: "blockedPaths" …, or the name of a builtin'),
  source: z.enum(["builtin", "global", "project", "auto-block"]),
});
export type Rule = z.infer<typeof Rule>;

/** Who asks: the agent's name, its session and the platform of its host. */
export interface Requester {
  agent: string;
  session_id: string | null;
  host: string | null;
  /** The project of the folder that the host opened, if it is another one. */
  home_project: string | null;
}

/** The network that a sandboxed command has. `loopback` is one of its own, without other programs. */
export const SandboxNetwork = z.enum(["none", "loopback", "all"]);
export type SandboxNetwork = z.infer<typeof SandboxNetwork>;

/** The sandbox that a command runs in. */
export const Sandbox = z.object({
  engine: z.string(),
  network: SandboxNetwork,
  masked: z.array(z.string()).describe("patterns and places that look absent to the command"),
  writable: z.array(z.string()).describe("folders that the command can write, and nothing else"),
  hosts: z.array(z.string()).optional()
    .describe("hosts that the command can reach although the network is closed"),
  held_back: z.literal(true).optional()
    .describe("the command changes a copy of the project; a person approves the changes"),
  readable: z.array(z.string()).optional()
    .describe("files of the home folder that a person has opened for reading"),
});
export type Sandbox = z.infer<typeof Sandbox>;

/** Walls that people opened for one command or its session. */
export interface OpenedWalls {
  hosts: readonly string[];
  writable: readonly string[];
  readable: readonly string[];
}

/** The policy's answer to a request, with what the agent can do instead. */
export const Decision = z.object({
  effect: Effect,
  rule: Rule.nullable(),
  reason: z.string(),
  alternative: z.string().nullable(),
  sandbox: Sandbox.nullable()
    .describe("the effect holds only in this sandbox; null if the action needs none"),
  grant_id: z.string().optional().describe("the grant that allowed it"),
  lease_id: z.string().optional().describe("the approved plan that allowed it"),
});
export type Decision = z.infer<typeof Decision>;

/** One entry of a policy list; each load of the file checks its examples. */
export const PolicyEntry = z.union([
  z.string().min(1).max(256),
  z.looseObject({
    pattern: z.string().min(1).max(256),
    reason: z.string().optional(),
    alternative: z.string().optional(),
    args: z.record(z.string(), z.string()).optional(),
    match: z.array(z.string()).optional(),
    not_match: z.array(z.string()).optional(),
  }),
]);
export type PolicyEntry = z.infer<typeof PolicyEntry>;

const entries = z.array(PolicyEntry).max(1000);

/** A cause of risk that gate finds in an action by itself. */
export const RiskFactor = z.enum([
  "ci",
  "deployment",
  "infrastructure",
  "containers",
  "migration",
  "lockfile",
  "dependencies",
  "secret_file",
  "hook",
  "tool_config",
  "agent_instructions",
  "shell_start",
  "system_file",
  "outside",
  "creates",
  "overwrites",
  "moves",
  "shrinks",
  "executable",
  "deletes",
  "deletes_folder",
  "deletes_everything",
  "many_files",
  "large",
  "secret_in_content",
  "destructive_sql",
  "socket_mounted",
  "host_access",
  "public_access",
  "runs_at_install",
  "weakens_ci",
  "hidden_code",
  "opens_shell",
  "cloud",
  "cloud_change",
  "cloud_destroy",
  "destroys_whole",
  "production",
  "production_named",
  "database_change",
  "database_destroy",
  "publishes",
  "pushes",
  "rewrites_history",
  "loses_work",
  "local_history",
  "deploys",
  "unattended",
  "privilege",
  "mode",
  "service",
  "schedules",
  "destroys_machine",
  "container_start",
  "network",
  "sends",
  "sends_file",
  "remote",
  "foreign_code",
  "unknown_code",
  "installs",
  "shell_script",
  "interpreter",
  "unresolved",
  "secret_read",
  "private_key_read",
  "network_after_secret",
  "sends_secret",
  "foreign_change",
  "not_reversible",
  "guarded",
  "forbidden",
  "held_by_rule",
  "first_time",
  "outside_hours",
  "burst",
]);
export type RiskFactor = z.infer<typeof RiskFactor>;

const weight = z.number().int().min(0).max(100);
const patterns = z.array(z.string().min(1).max(256)).max(100);

/** How a config changes the score of risk. 25 is medium, 50 high, 75 critical. */
export const RiskConfig = z.looseObject({
  weights: z.partialRecord(RiskFactor, weight).optional(),
  classes: z.array(z.looseObject({
    name: z.string().min(1).max(64),
    weight,
    paths: patterns.optional(),
    commands: patterns.optional(),
  })).max(100).optional(),
  workingHours: z.looseObject({
    from: z.number().int().min(0).max(23),
    to: z.number().int().min(1).max(24),
    days: z.array(z.number().int().min(0).max(6)).max(7).optional(),
  }).optional(),
});
export type RiskConfig = z.infer<typeof RiskConfig>;

/** Bytes in ten minutes. */
const intake = z.number().int().min(65_536).max(1_099_511_627_776);

/** When commands run in a sandbox, and what they can reach there. */
export const SandboxPolicy = z.strictObject({
  mode: z.enum(["off", "auto", "always", "review"])
    .describe(
      "off: never; auto: instead of a question, where it can; always: every command; review: every " +
        "command, on a copy of the project, until a person approves its changes",
    ),
  network: SandboxNetwork,
  hosts: z.array(z.string().min(1).max(253)).max(100)
    .describe("hosts that a command can reach although the network is closed"),
  writable: z.array(z.string().min(1).max(1024)).max(100)
    .describe("folders outside the project that a command can write"),
});
export type SandboxPolicy = z.infer<typeof SandboxPolicy>;

/** The `policies` object of the project's and the global config; unknown keys are kept. */
export const Policies = z.looseObject({
  defaultEffect: Effect.optional(),
  allowedPaths: entries.optional(),
  askPaths: entries.optional(),
  blockedPaths: entries.optional(),
  allowedCommands: entries.optional(),
  askCommands: entries.optional(),
  blockedCommands: entries.optional(),
  allowedTools: entries.optional(),
  askTools: entries.optional(),
  blockedTools: entries.optional(),
  sandbox: SandboxPolicy.partial().optional(),
  maxBashOutputBytes: z.number().int().min(0).max(1_073_741_824).optional(),
  commandTimeoutSeconds: z.number().int().min(1).max(86_400).optional(),
  approvalTimeoutSeconds: z.number().int().min(1).max(31_536_000).optional(),
  maxBlobBytes: z.number().int().min(0).max(4_294_967_296).optional(),
  maxHeldPerSession: z.number().int().min(1).max(10_000).optional(),
  maxHeldPerProject: z.number().int().min(1).max(10_000).optional(),
  maxHeldBytesPerSession: z.number().int().min(0).max(4_294_967_296).optional(),
  maxRecordedBytesPerSession: intake.optional(),
  maxRecordedBytesPerMachine: intake.optional(),
  maxRefusedBytesPerSession: intake.optional(),
  maxRefusedBytesPerMachine: intake.optional(),
  risk: RiskConfig.optional(),
  maxDenialsPerSession: z.number().int().min(1).max(100_000).optional(),
  maxDenialsPerAgent: z.number().int().min(1).max(100_000).optional(),
  maxCriticalPerSession: z.number().int().min(1).max(100_000).optional(),
  denialWindowSeconds: z.number().int().min(10).max(86_400).optional(),
  blockSeconds: z.number().int().min(10).max(31_536_000).optional(),
  maxChangedFilesPerSession: z.number().int().min(1).max(10_000_000).optional(),
  maxChangedBytesPerSession: z.number().int().min(1).max(1_099_511_627_776).optional(),
  maxDeletionsPerSession: z.number().int().min(1).max(10_000_000).optional(),
});
export type Policies = z.infer<typeof Policies>;

/** The limits in force after inheritance. */
export const PolicyLimits = z.object({
  maxBashOutputBytes: z.number().int(),
  commandTimeoutSeconds: z.number().int(),
  approvalTimeoutSeconds: z.number().int(),
  maxBlobBytes: z.number().int(),
  maxHeldPerSession: z.number().int().describe("actions of one session that may wait at once"),
  maxHeldPerProject: z.number().int().describe("actions of all sessions that may wait at once"),
  maxHeldBytesPerSession: z.number().int().describe(
    "new contents, commands and inputs of one session's waiting actions",
  ),
  maxRecordedBytesPerSession: z.number().int().describe(
    "bytes that one session may add to the records in ten minutes, without its refused actions",
  ),
  maxRecordedBytesPerMachine: z.number().int().describe("the same of all sessions together"),
  maxRefusedBytesPerSession: z.number().int().describe(
    "bytes that the refused actions of one session may add in ten minutes",
  ),
  maxRefusedBytesPerMachine: z.number().int().describe("the same of all sessions together"),
  maxDenialsPerSession: z.number().int().describe(
    "denied actions within denialWindowSeconds that block a session",
  ),
  maxDenialsPerAgent: z.number().int().describe(
    "denied actions of all sessions of one agent that block the agent",
  ),
  maxCriticalPerSession: z.number().int().describe(
    "actions of critical risk without an approval that block a session",
  ),
  denialWindowSeconds: z.number().int().describe("the time in which they count"),
  blockSeconds: z.number().int().describe("how long such a block lasts"),
  maxChangedFilesPerSession: z.number().int().describe(
    "files that a session may change without a person; then it is asked",
  ),
  maxChangedBytesPerSession: z.number().int().describe("bytes that it may write without a person"),
  maxDeletionsPerSession: z.number().int().describe("files that it may delete without a person"),
});
export type PolicyLimits = z.infer<typeof PolicyLimits>;

/** The programs and effects of a command; paths are relative to its folder, or absolute outside. */
export const Analysis = z.object({
  commands: z.array(z.array(z.string())),
  reads: z.array(z.string()),
  writes: z.array(z.string()),
  deletes: z.array(z.string()),
  unresolved: z.array(z.string()),
  is_cut: z.literal(true).optional().describe("gate could not analyse the whole command"),
});
export type Analysis = z.infer<typeof Analysis>;

/** Body of `POST /api/policy/test`; a command kind without `command` takes it from `path`. */
export const PolicyTestInput = z.strictObject({
  path: z.string().optional(),
  action: z.string().min(1).max(256).optional()
    .describe("write, read, delete, command or a tool name"),
  command: z.string().optional(),
  content: z.string().optional(),
  input: z.record(z.string(), z.unknown()).optional(),
  cwd: z.string().optional(),
  session_id: z.string().max(256).optional()
    .describe("grants of this session apply too"),
  sandbox: z.boolean().optional()
    .describe("false judges a command as if this machine could sandbox nothing"),
});
export type PolicyTestInput = z.infer<typeof PolicyTestInput>;

/** Answer of `POST /api/policy/test`. */
export const PolicyTestResult = z.object({
  effect: Effect,
  rule: Rule.nullable(),
  reason: z.string(),
  alternative: z.string().nullable(),
  sandbox: Decision.shape.sandbox,
  grant_id: z.string().optional().describe("the grant that would allow it"),
  matched: z.array(Rule),
  unsure: z.array(Rule)
    .describe("rules of matched that only may match: a part of the request is not known"),
  elapsed_us: z.number(),
  analysis: Analysis.optional(),
  span: z.string().optional().describe("the part of the command that the winning rule is about"),
  sandbox_refused: z.string().nullable()
    .describe("why the sandbox does not answer the question; null if it does, or if there is none"),
});
export type PolicyTestResult = z.infer<typeof PolicyTestResult>;

/** How often a rule decided. `overruled`: asked and then approved, or allowed and rolled back. */
export const PolicyHit = z.object({
  rule: Rule,
  count: z.number().int(),
  last_hit_at: z.string(),
  allow: z.number().int(),
  ask: z.number().int(),
  deny: z.number().int(),
  overruled: z.number().int(),
});
export type PolicyHit = z.infer<typeof PolicyHit>;
