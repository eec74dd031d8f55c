import { z } from "zod";
import { Decision } from "../policy/schema.ts";

/** The tools the gate carries out itself; hooks record other hosts' tools under their own names. */
export const GateTool = z.enum([
  "write_file",
  "edit_file",
  "delete_file",
  "move_file",
  "read_file",
  "run_command",
  "rollback",
]);
export type GateTool = z.infer<typeof GateTool>;

/** Decided: what was said of the action. */
export const ActionStatus = z.enum([
  "pending",
  "approved",
  "rejected",
  "blocked",
  "expired",
  "cancelled",
  "rolled_back",
]);
export type ActionStatus = z.infer<typeof ActionStatus>;

/** Done: what came of it. A crash between the two shows as `running` and then `unknown`. */
export const Execution = z.enum(["none", "running", "succeeded", "failed", "unknown"]);
export type Execution = z.infer<typeof Execution>;

/** How much harm an action could do, 0–100, each part of the sum explained. */
export const Risk = z.object({
  score: z.number().int().min(0).max(100),
  level: z.enum(["low", "medium", "high", "critical"]),
  factors: z.array(z.object({ name: z.string(), weight: z.number().int(), why: z.string() })),
});
export type Risk = z.infer<typeof Risk>;

/** One recorded action of an agent: row, record and JSON alike. */
export const Action = z.object({
  id: z.uuid(),
  seq: z.number().int(),
  project_id: z.string(),
  root: z.string(),
  session_id: z.string(),
  agent: z.string(),
  tool: z.string(),
  path: z.string().nullable().describe("relative to root inside it, absolute outside"),
  command: z.string().nullable(),
  cwd: z.string().nullable(),
  status: ActionStatus,
  execution: Execution,
  decision: Decision,
  risk: Risk,
  reversible: z.boolean(),
  edited: z.boolean(),
  before_sha256: z.string().nullable(),
  after_sha256: z.string().nullable(),
  bytes: z.number().int().nullable(),
  digest: z.string(),
  replay_of: z.string().nullable(),
  rollback_of: z.string().nullable(),
  created_at: z.iso.datetime(),
  decided_at: z.iso.datetime().nullable(),
  expires_at: z.iso.datetime().nullable(),
  decided_by: z.string().nullable().describe('"policy", "system" or the reviewer'),
  reason: z.string().nullable(),
  exit_code: z.number().int().nullable(),
  error: z.string().nullable(),
});
export type Action = z.infer<typeof Action>;

const text = z.string();

/** Inputs of the tools, used alike by HTTP, MCP and the library. */
export const WriteFileInput = z.strictObject({
  path: text.describe("file to write, relative to the project or absolute"),
  content: text.describe("the whole new content"),
  encoding: z.enum(["utf8", "base64"]).optional().describe(
    "how content is encoded, utf8 unless said",
  ),
});
export type WriteFileInput = z.infer<typeof WriteFileInput>;

export const EditFileInput = z.strictObject({
  path: text.describe("file to edit"),
  edits: z.array(z.strictObject({ old_text: text.min(1), new_text: text })).min(1).max(1000)
    .describe("applied in order; each old_text must occur exactly once"),
});
export type EditFileInput = z.infer<typeof EditFileInput>;

export const DeleteFileInput = z.strictObject({ path: text.describe("file to delete") });
export type DeleteFileInput = z.infer<typeof DeleteFileInput>;

export const MoveFileInput = z.strictObject({
  from: text.describe("file to move"),
  to: text.describe("its new path, which must not exist"),
});
export type MoveFileInput = z.infer<typeof MoveFileInput>;

export const ReadFileInput = z.strictObject({ path: text.describe("file to read") });
export type ReadFileInput = z.infer<typeof ReadFileInput>;

export const RunCommandInput = z.strictObject({
  command: text.min(1).describe("one command line for bash"),
  cwd: text.optional().describe("folder to run in, the project's root unless said"),
});
export type RunCommandInput = z.infer<typeof RunCommandInput>;

export const RollbackToolInput = z.strictObject({ action_id: z.string() });
export type RollbackToolInput = z.infer<typeof RollbackToolInput>;

const waitMs = z.number().int().min(0).max(300_000);

/** Body of `POST /api/actions`. */
export const SubmitInput = z.strictObject({
  tool: z.string().min(1).max(256),
  input: z.record(z.string(), z.unknown()),
  session_id: z.string().optional(),
  wait_ms: waitMs.optional(),
});
export type SubmitInput = z.infer<typeof SubmitInput>;

/** Body of `POST /api/actions/:id/wait`. */
export const WaitInput = z.strictObject({ timeout_ms: waitMs.optional() });
export type WaitInput = z.infer<typeof WaitInput>;

/** Body of `POST /api/actions/:id/claim`: who is going to run the command. */
export const ClaimInput = z.strictObject({
  holder: z.string().min(1).max(256).optional(),
});
export type ClaimInput = z.infer<typeof ClaimInput>;

/** What the winner of a claim runs. */
export const Claim = z.object({
  action: Action,
  claim_id: z.string(),
  command: z.string(),
  cwd: z.string(),
  timeout_ms: z.number().int(),
  max_output_bytes: z.number().int(),
});
export type Claim = z.infer<typeof Claim>;

/** Body of `POST /api/actions/:id/result`: what came of the command. */
export const ResultInput = z.strictObject({
  claim_id: z.string(),
  exit_code: z.number().int().nullable(),
  output: z.string(),
  truncated: z.boolean(),
  duration_ms: z.number().int().min(0),
  error: z.string().optional(),
});
export type ResultInput = z.infer<typeof ResultInput>;

const reason = z.string().max(4000);

/** Body of `POST /api/actions/:id/approve`. */
export const ApproveInput = z.strictObject({
  reason: reason.optional(),
  expected_digest: z.string().optional(),
  remember: z.strictObject({
    scope: z.enum(["session", "project"]),
    ttl_seconds: z.number().int().min(1).max(31_536_000),
    max_uses: z.number().int().min(1).max(100_000),
  }).optional(),
});
export type ApproveInput = z.infer<typeof ApproveInput>;

/** Body of `POST /api/actions/:id/reject`. */
export const RejectInput = z.strictObject({
  reason: reason.optional(),
  expected_digest: z.string().optional(),
});
export type RejectInput = z.infer<typeof RejectInput>;

/** Body of `POST /api/actions/:id/approve-with-edit`: exactly one of `content` and `command`. */
export const ApproveWithEditInput = z.strictObject({
  content: z.string().optional(),
  encoding: z.enum(["utf8", "base64"]).optional(),
  command: z.string().min(1).optional(),
  reason: reason.optional(),
  expected_digest: z.string().optional(),
});
export type ApproveWithEditInput = z.infer<typeof ApproveWithEditInput>;

/** Body of `POST /api/actions/:id/cancel`. */
export const CancelInput = z.strictObject({ reason: reason.optional() });
export type CancelInput = z.infer<typeof CancelInput>;

/** Body of `POST /api/actions/:id/rollback`. */
export const RollbackInput = z.strictObject({
  on_conflict: z.enum(["abort", "merge", "force"]).optional(),
  dry_run: z.boolean().optional(),
  reason: reason.optional(),
});
export type RollbackInput = z.infer<typeof RollbackInput>;

/** Body of `POST /api/actions/:id/replay`. */
export const ReplayInput = z.strictObject({});
export type ReplayInput = z.infer<typeof ReplayInput>;

/** `GET /api/actions/:id/status`. */
export const ActionStatusView = z.object({
  id: z.string(),
  status: ActionStatus,
  execution: Execution,
  decided_by: z.string().nullable(),
  reason: z.string().nullable(),
  approvals: z.object({ need: z.number().int(), have: z.number().int() }),
});
export type ActionStatusView = z.infer<typeof ActionStatusView>;

/**
 * `GET /api/actions/:id`: the action with what a reviewer needs to decide on it. Texts are null
 * where the file is binary, absent or too large to show; the hashes and sizes always tell.
 */
export const ActionDetail = Action.extend({
  before: z.object({
    text: z.string().nullable(),
    bytes: z.number().int(),
    mode: z.number().int().nullable(),
  }).nullable(),
  after: z.object({
    text: z.string().nullable(),
    bytes: z.number().int(),
    mode: z.number().int().nullable().describe("null keeps the old one"),
  }).nullable(),
  changes: z.array(z.object({
    path: z.string(),
    before_sha256: z.string().nullable(),
    after_sha256: z.string().nullable(),
  })).describe("every file that changes, in order; a move changes two"),
  input: z.record(z.string(), z.unknown()).nullable()
    .describe("of a tool that the gate only records: secrets taken out, long values cut"),
  proposed: z.object({ content: z.string().nullable(), command: z.string().nullable() }).nullable()
    .describe("what the agent had asked for, when a reviewer changed it"),
  analysis: z.object({
    commands: z.array(z.array(z.string())),
    reads: z.array(z.string()),
    writes: z.array(z.string()),
    deletes: z.array(z.string()),
    unresolved: z.array(z.string()),
  }).nullable(),
  output: z.object({
    text: z.string(),
    truncated: z.boolean(),
    duration_ms: z.number().int(),
  }).nullable(),
  timeline: z.array(z.object({
    seq: z.number().int(),
    at: z.string(),
    type: z.string(),
    actor: z.object({ kind: z.string(), id: z.string() }),
    data: z.record(z.string(), z.unknown()),
  })),
});
export type ActionDetail = z.infer<typeof ActionDetail>;

/** Query of `GET /api/actions` and `GET /api/global/actions`. */
export const ActionQuery = z.object({
  project: z.string().optional(),
  count: z.enum(["true", "false"]).optional(),
  limit: z.coerce.number().int().min(1).max(500).optional(),
  cursor: z.string().max(256).optional(),
  status: ActionStatus.optional(),
  execution: Execution.optional(),
  tool: z.string().max(256).optional(),
  agent: z.string().max(256).optional(),
  session_id: z.string().max(256).optional(),
  path: z.string().max(4096).optional(),
  decided_by: z.string().max(256).optional(),
  risk: Risk.shape.level.optional(),
  q: z.string().max(256).optional()
    .describe("whole words, all of which stand in its path, command or reasons"),
});
export type ActionQuery = z.infer<typeof ActionQuery>;

/** A page of actions, newest first. */
export const ActionList = z.object({
  items: z.array(Action),
  next_cursor: z.string().nullable(),
});
export type ActionList = z.infer<typeof ActionList>;

/** Answer of a rollback: the action undone, and the action that undid it. */
export const RollbackResult = z.object({
  action: Action,
  rollback: Action.nullable(),
  outcome: z.enum(["restored", "already_undone", "merged", "forced"]),
  changes: z.array(z.object({
    path: z.string(),
    now_sha256: z.string().nullable(),
    then_sha256: z.string().nullable(),
  })),
  dry_run: z.boolean(),
});
export type RollbackResult = z.infer<typeof RollbackResult>;
