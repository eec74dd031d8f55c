import { z } from "zod";
import { RollbackInput, RollbackResult } from "../actions/schema.ts";

/** A group of actions: one connection of one agent to one project. */
export const Session = z.object({
  id: z.string(),
  project_id: z.string(),
  root: z.string(),
  host: z.string().describe("platform id of the agent's host, or unknown"),
  agent: z.string(),
  client: z.string().describe("name and version that the MCP client gave"),
  started_at: z.iso.datetime(),
  last_seen_at: z.iso.datetime(),
  ended_at: z.iso.datetime().nullable(),
  action_count: z.number().int(),
  pending_count: z.number().int(),
  rollback_state: z.enum(["none", "partial", "full"]),
  block_reason: z.string().nullable()
    .describe("why gate denies every call of the session until a reviewer lifts the block"),
  home_project: z.string().nullable()
    .describe("the project of the folder that the host opened, if it is another one"),
  branch: z.string().nullable()
    .describe("the git branch of its folder when it began; null without one"),
});
export type Session = z.infer<typeof Session>;

/** The outcome of an action. */
export const ActionOutcome = z.enum(
  [
    ...["held", "allowed", "approved", "failed", "rejected", "blocked", "rolled_back", "unused"],
  ] as const,
);
export type ActionOutcome = z.infer<typeof ActionOutcome>;

/** A session as lists show it. */
export const ListedSession = Session.extend({
  state: z.enum(["open", "idle", "ended"])
    .describe("idle: open, but without an action for a quarter of an hour"),
  first_action: z.object({
    tool: z.string(),
    path: z.string().nullable(),
    command: z.string().nullable(),
  }).nullable(),
  outcomes: z.array(ActionOutcome)
    .describe(
      "of its newest actions, at most 40, oldest first; unused ones expired or were cancelled",
    ),
});
export type ListedSession = z.infer<typeof ListedSession>;

const name = z.string().min(1).max(256);

/** Body of `POST /api/sessions`. */
export const SessionInput = z.strictObject({
  agent: name.optional(),
  host: name.optional(),
  client: name.optional(),
  root: z.string().max(4096).optional(),
  detected_by: z.string().max(256).optional()
    .describe("the rule that found the project, for the audit row"),
  home_project: name.optional().describe(
    "the project of the folder that the host opened: of another one, its policy applies too, and " +
      "a person decides",
  ),
  process: z.strictObject({
    pid: z.number().int().min(1),
    start_time: z.string().min(1).max(256),
  }).optional().describe("the process that opens the session; a later one of its host succeeds it"),
});
export type SessionInput = z.infer<typeof SessionInput>;

/** Answer of `POST /api/sessions`. The gate keeps only the digest of the secret. */
export const OpenedSession = Session.extend({
  session_secret: z.string().describe(
    "send it as X-Gate-Session with every call of an agent about this session; answered once",
  ),
});
export type OpenedSession = z.infer<typeof OpenedSession>;

/** A page of sessions, newest first. */
export const SessionList = z.object({
  items: z.array(ListedSession),
  next_cursor: z.string().nullable(),
});
export type SessionList = z.infer<typeof SessionList>;

/** Query of `GET /api/sessions`. */
export const SessionQuery = z.object({
  project: z.string().optional(),
  limit: z.coerce.number().int().min(1).max(500).optional(),
  cursor: z.string().max(256).optional(),
  agent: z.string().max(256).optional(),
  host: z.string().max(256).optional(),
  client: z.string().max(256).optional(),
  state: ListedSession.shape.state.optional(),
});
export type SessionQuery = z.infer<typeof SessionQuery>;

/** `GET /api/sessions/:id/status`. */
export const SessionStatusView = z.object({
  session_id: z.string(),
  rollback_state: z.enum(["none", "partial", "full"]),
  actions: z.array(z.object({
    action_id: z.string(),
    status: z.string(),
    reversible: z.boolean(),
  })),
});
export type SessionStatusView = z.infer<typeof SessionStatusView>;

/** Body of `POST /api/sessions/:id/rollback`. */
export const SessionRollbackInput = RollbackInput.omit({ expected_digest: true }).extend({
  expected_actions_sha256: z.string().optional()
    .describe("`actions_sha256` of the dry run that the person saw"),
});
export type SessionRollbackInput = z.infer<typeof SessionRollbackInput>;

/** Body of `POST /api/sessions/:id/rollback-partial`. */
export const PartialRollbackInput = SessionRollbackInput.extend({
  action_ids: z.array(z.string().max(64)).min(1).max(10_000)
    .describe("actions of the session, in any order; naming a rollback rolls it back"),
});
export type PartialRollbackInput = z.infer<typeof PartialRollbackInput>;

/** The steps of a session rollback, or of its dry run, newest first. */
export const SessionRollbackResult = z.object({
  session_id: z.string(),
  dry_run: z.boolean(),
  rollback_state: z.enum(["none", "partial", "full"]),
  actions: z.array(z.object({
    action_id: z.string(),
    rollback_id: z.string().nullable().describe("the action that rolled it back"),
    outcome: RollbackResult.shape.outcome,
    changes: RollbackResult.shape.changes,
    left: RollbackResult.shape.left,
  })),
  actions_sha256: z.string().describe("of the digests of these actions; a proof covers it"),
  skipped: z.array(z.object({ action_id: z.string(), tool: z.string(), why: z.string() }))
    .describe("actions without a rollback, such as commands"),
});
export type SessionRollbackResult = z.infer<typeof SessionRollbackResult>;

const FileState = z.object({
  sha256: z.string(),
  bytes: z.number().int(),
  mode: z.number().int().nullable(),
});

/** The change of one file. A file without a patch has its size and hash. */
export const FileDiff = z.object({
  path: z.string(),
  renamed_from: z.string().nullable(),
  change: z.enum(["created", "modified", "deleted", "renamed", "none"]),
  before: FileState.nullable(),
  after: FileState.nullable(),
  patch: z.string().nullable().describe("unified"),
  omitted: z.enum(["binary", "too_large", "too_different", "not_kept", "dropped"]).nullable()
    .describe("why a changed file has no patch"),
  action_ids: z.array(z.string()),
});
export type FileDiff = z.infer<typeof FileDiff>;

/** `GET /api/sessions/:id/diff`. */
export const SessionDiff = z.object({
  session_id: z.string(),
  files: z.array(FileDiff).describe("each changed file, from its first state to its last"),
  actions: z.array(z.object({
    action_id: z.string(),
    tool: z.string(),
    status: z.string(),
    rollback_of: z.string().nullable(),
    created_at: z.iso.datetime(),
    files: z.array(FileDiff),
  })).describe("oldest first"),
});
export type SessionDiff = z.infer<typeof SessionDiff>;

const hash = z.string().regex(/^[0-9a-f]{64}$/).nullable();

/** A file that a person has viewed, and its content at that time: null where it did not exist. */
export const ViewedFile = z.strictObject({
  path: z.string().min(1).max(4096),
  before_sha256: hash,
  after_sha256: hash,
});
export type ViewedFile = z.infer<typeof ViewedFile>;

export const ViewedList = z.object({ items: z.array(ViewedFile) });

/** Body of `PUT /api/sessions/:id/viewed`. */
export const ViewedInput = ViewedFile.extend({ is_viewed: z.boolean() });
export type ViewedInput = z.infer<typeof ViewedInput>;
