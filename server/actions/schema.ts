import { z } from "zod";
import { Remember } from "../grants/schema.ts";
import { Decision, Sandbox } from "../policy/schema.ts";
import { Risk } from "../risk/schema.ts";
import { AskedHost, OpenWall, OpenWalls, Walls } from "../sandbox/schema.ts";
import { TOOL_NAMES } from "./tools.ts";

/** The gate's own tools. Hooks record the tools of other hosts under their own names. */
export const GateTool = z.enum(TOOL_NAMES);
export type GateTool = z.infer<typeof GateTool>;

/** The decision on an action. */
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

/** The execution of an action. After a crash `running` may become `unknown`. */
export const Execution = z.enum(["none", "running", "succeeded", "failed", "unknown"]);
export type Execution = z.infer<typeof Execution>;

/** How much of an action a rollback would restore. */
export const Reversibility = z.object({
  level: z.enum(["reversible", "partly", "not"]),
  kept: z.number().int().describe("files whose old content is kept"),
  why: z.string(),
});
export type Reversibility = z.infer<typeof Reversibility>;

/** An action of another session on the same file. */
export const Conflict = z.object({
  kind: z.enum(["both_hold", "overwrites", "overwritten_by", "held_by", "changed_by"]),
  action_id: z.string(),
  session_id: z.string(),
  agent: z.string(),
  path: z.string(),
});
export type Conflict = z.infer<typeof Conflict>;

/** One recorded action of an agent. Row, record and JSON have the same fields. */
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
  title: z.string().nullable().describe("of a plan: what the agent calls it"),
  moved_to: z.string().nullable().describe("of a move: the new path, as `path` is the old one"),
  status: ActionStatus,
  execution: Execution,
  decision: Decision,
  risk: Risk,
  reversible: z.boolean().describe("a rollback would restore something"),
  reversibility: Reversibility.nullable()
    .describe("known before the approval; null if nothing changes, or if it is unknown"),
  edited: z.boolean(),
  conflicts: z.array(Conflict).describe(
    "with actions of other sessions on the same files",
  ),
  before_sha256: z.string().nullable(),
  after_sha256: z.string().nullable(),
  bytes: z.number().int().nullable(),
  lines: z.object({ added: z.number().int(), removed: z.number().int() }).nullable()
    .describe("of a held action: the changed lines of its texts; null if they are not counted"),
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

const machine = z.string().nullable().describe(
  "the other machine on which its agent works, where several share the ledger; null for this one",
);

/** An action in a list of held ones. */
export const HeldAction = Action.extend({ machine });
export type HeldAction = z.infer<typeof HeldAction>;

const waitMs = z.number().int().min(0).max(300_000);

/** The most folders of a search path, because each program is looked up in each of them. */
const MOST_PLACES = 1_000;

/** Body of `POST /api/actions`. */
export const SubmitInput = z.strictObject({
  tool: z.string().min(1).max(256),
  input: z.record(z.string(), z.unknown()),
  session_id: z.string().optional(),
  wait_ms: waitMs.optional(),
  search_path: z.string().max(32_768).refine(
    (path) => path.split(":").length <= MOST_PLACES,
    { error: `it has over ${MOST_PLACES} folders` },
  ).optional()
    .describe("PATH of the process that will run a command; default: that of the daemon"),
});
export type SubmitInput = z.infer<typeof SubmitInput>;

/** Body of `POST /api/actions/:id/wait`. */
export const WaitInput = z.strictObject({ timeout_ms: waitMs.optional() });
export type WaitInput = z.infer<typeof WaitInput>;

/** A process that cannot be mistaken for a later one with the same pid. */
const ProcessName = z.strictObject({
  pid: z.number().int().min(1),
  start_time: z.string().max(256),
});

/** Body of `POST /api/actions/:id/claim`. `holder` names the process that will run the command. */
export const ClaimInput = z.strictObject({
  holder: z.string().min(1).max(256).optional(),
  sandbox: z.literal(true).optional()
    .describe("the process can start the command in a sandbox; without it such a command fails"),
  process: ProcessName.optional().describe(
    "the process that will run it; the command is over when it is gone",
  ),
});
export type ClaimInput = z.infer<typeof ClaimInput>;

const Program = z.object({
  name: z.string().describe("as the command names it; absolute if that name has a slash"),
  path: z.string(),
  inode: z.string().describe("device, inode, size and time of change when it was judged"),
});

const PlannedProgram = Program.extend({
  real: z.string().optional().describe("where the path leads, if a link is on the way"),
  changeable: z.enum(["project", "temporary"]).optional()
    .describe(
      "the folder that holds it and that agents can write: a project's, or a temporary one",
    ),
});

const Redirect = z.union([
  z.object({
    fd: z.literal([0, 1, 2]),
    kind: z.enum(["read", "write", "append"]),
    path: z.string(),
  }),
  z.object({ fd: z.literal([0, 1, 2]), kind: z.literal("duplicate"), of: z.literal([1, 2]) }),
  z.object({ fd: z.literal([0, 1, 2]), kind: z.literal("text"), text: z.string() }),
]);

const Stage = z.object({
  argv: z.array(z.string()),
  builtin: z.boolean().describe("a shell would run this name itself"),
  variables: z.array(z.tuple([z.string(), z.string()])),
  redirects: z.array(Redirect),
});

/** The answer to the winner of a claim: the command to run. */
export const Claim = z.object({
  action: Action,
  claim_id: z.string(),
  command: z.string(),
  cwd: z.string(),
  timeout_ms: z.number().int(),
  max_output_bytes: z.number().int(),
  run: z.object({
    steps: z.array(z.object({
      when: z.enum(["always", "success", "failure"]).describe("the outcome of the step before"),
      skips: z.number().int().describe("of a loop: as many steps belong to it"),
      stages: z.array(Stage),
    })).describe("the pipelines, in order, with the words as judged"),
    programs: z.array(Program),
    links: z.array(z.object({ path: z.string(), real: z.string() }))
      .describe("where the paths of its redirects led"),
  }).nullable().describe("of a proved command, which runs without a shell"),
  walls: Walls.nullable().describe("the sandbox in which the command must run; null for none"),
});
export type Claim = z.infer<typeof Claim>;

/** Body of `POST /api/actions/:id/result`: the result of the command. */
export const ResultInput = z.strictObject({
  claim_id: z.string(),
  exit_code: z.number().int().nullable(),
  output: z.string(),
  truncated: z.boolean(),
  duration_ms: z.number().int().min(0),
  error: z.string().optional(),
  asked_hosts: z.array(AskedHost).max(100).optional()
    .describe("the hosts that a command in the sandbox asked for"),
  left: ProcessName.optional().describe("a process of its sandbox that could not be ended"),
});
export type ResultInput = z.infer<typeof ResultInput>;

const reason = z.string().max(4000);
const base = z.string().nullable().optional().describe(
  "hash of the changed file that the reviewer has seen; null if the file is gone",
);

/** A guarded place of a project that a person may let one run of a command change. */
export const PermittedPlace = z.enum([".git/config", ".git/hooks", ".husky"]);
export type PermittedPlace = z.infer<typeof PermittedPlace>;

const confirm = z.string().max(256).optional()
  .describe("`confirmation` of the action, typed by the person; needed where that is not null");

/** Body of `POST /api/actions/:id/approve`. */
export const ApproveInput = z.strictObject({
  reason: reason.optional(),
  confirm,
  base_sha256: base,
  expected_digest: z.string().optional(),
  remember: Remember.optional(),
  permit: z.array(PermittedPlace).min(1).max(PermittedPlace.options.length).optional()
    .describe("of a command: guarded places that it may change in this run"),
  open: OpenWalls.optional()
    .describe("of run_command: runs it in the sandbox with these walls open, not outside"),
});
export type ApproveInput = z.infer<typeof ApproveInput>;

/** Answer of an approval: 202 and the number of approvals while its route asks more people. */
export const Approved = Action.extend({
  approvals: z.object({ need: z.number().int(), have: z.number().int() }).optional()
    .describe("of an action that still waits for more people"),
});
export type Approved = z.infer<typeof Approved>;

/** Names a comment: the rejected action and the place of the comment in its list, from 0. */
const CommentId = z.string().regex(/^[0-9a-f-]{36}\/\d{1,2}$/);

/** A comment of a person on one line of a held change. */
export const LineComment = z.strictObject({
  path: z.string().min(1).max(4096),
  line: z.number().int().min(1).max(10_000_000),
  side: z.enum(["before", "after"]).default("after"),
  text: z.string().trim().min(1).max(2000),
  answers: CommentId.optional()
    .describe("the comment on an earlier version that this one takes up: its action and number"),
});
export type LineComment = z.infer<typeof LineComment>;

/** Body of `POST /api/actions/:id/reject`. */
export const RejectInput = z.strictObject({
  reason: reason.optional(),
  comments: z.array(LineComment).max(50).optional().describe(
    "the agent reads them behind the reason, each with its file and line",
  ),
  settled: z.array(CommentId).max(50).optional()
    .describe("comments on earlier versions that need no more work"),
  expected_digest: z.string().optional(),
});
export type RejectInput = z.infer<typeof RejectInput>;

/** Body of `POST /api/actions/reject`: these actions, those of a session, or all of the project. */
export const RejectAllInput = z.strictObject({
  action_ids: z.array(z.string().max(64)).min(1).max(10_000).optional(),
  session_id: z.string().max(64).optional(),
  all: z.literal(true).optional(),
  reason: reason.optional(),
}).refine(
  ({ action_ids, session_id, all }) =>
    [action_ids, session_id, all].filter((one) => one !== undefined).length === 1,
  {
    error: 'give exactly one of "action_ids", "session_id" and "all"',
  },
);
export type RejectAllInput = z.infer<typeof RejectAllInput>;

/** Answer of `POST /api/actions/reject`. */
export const RejectAllResult = z.object({
  rejected: z.array(Action),
  skipped: z.array(z.object({ action_id: z.string(), why: z.string() }))
    .describe("actions that were not held any more"),
});
export type RejectAllResult = z.infer<typeof RejectAllResult>;

/**
 * Body of `POST /api/actions/:id/approve-with-edit`: exactly one of `content`, `command` and `take`.
 */
export const ApproveWithEditInput = z.strictObject({
  take: z.array(z.string().min(1).max(4_096)).min(1).max(1_000).optional()
    .describe("of `apply_changes`: the paths whose changes the gate takes over, and no others"),
  content: z.string().optional(),
  encoding: z.enum(["utf8", "base64"]).optional(),
  command: z.string().min(1).optional(),
  base_sha256: base,
  reason: reason.optional(),
  confirm,
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
  expected_digest: z.string().optional(),
  reason: reason.optional(),
});
export type RollbackInput = z.infer<typeof RollbackInput>;

/** Body of `POST /api/actions/:id/replay`. */
export const ReplayInput = z.strictObject({ expected_digest: z.string().optional() });
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

const before = z.object({
  text: z.string().nullable(),
  bytes: z.number().int(),
  mode: z.number().int().nullable(),
});
const after = before.extend({ mode: before.shape.mode.describe("null keeps the old one") });

const whole = z.object({ bytes: z.number().int(), sha256: z.string() }).optional()
  .describe("length and hash of the whole text, which the digest covers");

const leftOut = z.object({
  files: z.array(z.object({ path: z.string(), why: z.string() })).describe("the first 100"),
  count: z.number().int(),
}).describe("changes that gate does not take over, such as links");

const Detail = Action.extend({
  before: before.nullable(),
  after: after.nullable(),
  changes: z.array(z.object({
    path: z.string(),
    before_sha256: z.string().nullable(),
    after_sha256: z.string().nullable(),
  })).describe("every changed file, in order; a move changes two"),
  files: z.array(z.object({
    path: z.string(),
    before_sha256: z.string().nullable(),
    after_sha256: z.string().nullable(),
    before: before.nullable(),
    after: after.nullable(),
    is_known: z.boolean().describe("false if only the host knows the new content"),
    is_left_out: z.boolean().describe(
      "true if its texts are left out, because all texts together are too large",
    ),
  })).nullable()
    .describe("of a host's own tool, and of changes of a command: every changed file, in order"),
  conflicts: z.array(Conflict.extend({
    tool: z.string(),
    command: z.string().nullable(),
    status: ActionStatus,
    execution: Execution,
    diff: z.string().nullable().describe("unified diff of the other action's change"),
  })),
  base: z.object({
    was_sha256: z.string().nullable(),
    now_sha256: z.string().nullable(),
    diff: z.string().nullable().describe("unified diff of the file since the action was held"),
    rebased: z.object({
      how: z.enum(["reapplied", "merged"]),
      sha256: z.string().nullable(),
      text: z.string().nullable(),
      diff: z.string().nullable(),
    }).nullable()
      .describe("the content on the present base; null if the change does not apply"),
    next: z.string(),
  }).nullable().describe("of a held action: how its file changed since; null if it is unchanged"),
  approvals: z.object({
    route: z.object({ id: z.string(), name: z.string() }),
    ordered: z.boolean(),
    need: z.number().int(),
    have: z.number().int(),
    asked: z.array(z.object({ id: z.string(), name: z.string() }))
      .describe("the people who may approve now"),
    answered: z.array(z.object({
      member_id: z.string(),
      name: z.string(),
      verdict: z.enum(["approve", "reject"]),
      at: z.string(),
    })),
    deadline: z.string().nullable(),
  }).nullable().describe("of an action with an approval route; null for one person's approval"),
  confirmation: z.string().nullable()
    .describe("of a held action: the text that a person types to approve it; null without one"),
  obstacle: z.string().nullable()
    .describe("of a held action: why an approval would fail; null if it would not"),
  input: z.record(z.string(), z.unknown()).nullable()
    .describe("of a tool that the gate only records: secrets are redacted, long values cut"),
  proposed: z.object({ content: z.string().nullable(), command: z.string().nullable() }).nullable()
    .describe("the agent's version, if a reviewer edited it"),
  signed: z.object({
    tool: z.string(),
    command: z.string().nullable(),
    cwd: z.string().nullable(),
    scripts: z.array(z.object({ path: z.string(), sha256: z.string() })),
    changes: z.array(z.object({
      path: z.string(),
      before: z.string().nullable(),
      after: z.object({ sha256: z.string(), mode: z.number().int().nullable() }).nullable(),
      guessed: z.literal(true).optional().describe("only the host knows the new content"),
    })),
    accesses: z.array(z.object({ access: z.string(), path: z.string() })),
    input_sha256: z.string().nullable(),
    input: z.record(z.string(), z.unknown()).optional()
      .describe("the shortened copy of an input that is not shown whole"),
    folders: z.object({
      emptied_folders: z.array(z.string()),
      restored_folders: z.array(z.object({ path: z.string(), mode: z.number().int() })),
      folder_modes: z.array(
        z.object({ path: z.string(), before: z.number().int(), after: z.number().int() }),
      ),
    }).optional().describe("the folders that a rollback creates, changes or removes"),
    programs: z.array(PlannedProgram).optional()
      .describe("the program files that a proved command starts"),
    sandbox: Sandbox.optional().describe("the sandbox in which it runs even after an approval"),
    outside_because: z.string().optional()
      .describe("why the agent wants the command to run outside the sandbox"),
    lease: z.object({
      title: z.string(),
      seconds: z.number().int(),
      steps: z.array(z.object({ digest: z.string(), questions: z.array(z.string()) })),
    }).optional().describe("of a plan: the actions that the approval allows, in this order"),
  }).nullable().describe(
    "of a held action: the SHA-256 of its RFC 8785 form is the digest; paths are real and absolute",
  ),
  analysis: z.object({
    commands: z.array(z.array(z.string())),
    reads: z.array(z.string()),
    writes: z.array(z.string()),
    deletes: z.array(z.string()),
    unresolved: z.array(z.string()),
    is_cut: z.literal(true).optional().describe("gate could not analyse the whole command"),
  }).nullable(),
  deletion: z.object({
    files: z.number().int(),
    bytes: z.number().int(),
    folders: z.array(z.string()).describe("the folders that it deletes with all that they hold"),
    paths: z.array(z.string()).describe("the first 200 files"),
    is_whole: z.boolean().describe("false if more exists than was counted"),
  }).nullable().describe("of a held command: the files that it would delete, as they exist now"),
  outside: z.object({
    reason: z.string(),
    earlier: z.object({
      action_id: z.string(),
      execution: Execution,
      error: z.string().nullable(),
      sandbox: Sandbox,
      met: z.array(z.string()).describe("the walls that it met, as far as its output tells"),
    }).nullable().describe("the last run of the same command in the sandbox, in this session"),
  }).nullable().describe("why the agent wants the command to run outside the sandbox"),
  walls: z.array(OpenWall).nullable().describe(
    "of a held command: walls of the sandbox that its text or its last run tells of and that an " +
      "approval can open; null if it can open none",
  ),
  scripts: z.array(z.object({
    path: z.string(),
    sha256: z.string(),
    is_frozen: z.boolean().describe("it is restored if it changes while the command runs"),
  })).describe("of a command: the scripts whose content an approval covers"),
  programs: z.array(PlannedProgram).nullable()
    .describe("the program files that a proved command starts; null if a shell or a host runs it"),
  unbound: z.string().nullable()
    .describe("of a command: what runs without being covered by the approval"),
  shortened: z.object({ command: whole, input: whole, accesses: whole }).nullable()
    .describe("of a refused action: the texts of which only an excerpt is kept"),
  restored: z.array(z.object({
    path: z.string(),
    change: z.enum(["created", "modified", "deleted", "rewritten"]),
    before_sha256: z.string().nullable(),
    after_sha256: z.string().nullable(),
    restored: z.boolean(),
    quarantine: z.string().nullable().describe("where the file that was found is kept"),
  })).describe("guarded files that changed without permission while it ran"),
  held_back: z.object({
    action_id: z.string().nullable().describe("the action that waits; null if nothing waits"),
    files: z.number().int().describe("how many files wait"),
    why: z.string().nullable().describe("why nothing waits; null if nothing changed"),
    left_out: leftOut,
  }).nullable().describe("of a command that worked on a copy of the project: its changes"),
  taken_from: z.object({
    action_id: z.string(),
    command: z.string(),
    left_out: leftOut,
  }).nullable().describe("of `apply_changes`: the command that made the changes"),
  output: z.object({
    text: z.string(),
    truncated: z.boolean(),
    duration_ms: z.number().int(),
  }).nullable(),
  machine,
  contents_dropped_at: z.string().nullable().describe(
    "when contents of the action were dropped because of their age: their texts are null, the " +
      "output is empty, and files that they would restore cannot be rolled back",
  ),
  timeline: z.array(z.object({
    seq: z.number().int(),
    at: z.string(),
    type: z.string(),
    actor: z.object({ kind: z.string(), id: z.string() }),
    data: z.record(z.string(), z.unknown()),
  })),
});

/** One action of a plan, with what its own card would show. */
export const PlanStep = Detail.pick({
  tool: true,
  path: true,
  command: true,
  cwd: true,
  decision: true,
  risk: true,
  digest: true,
  before: true,
  after: true,
  changes: true,
  signed: true,
  analysis: true,
  outside: true,
  scripts: true,
  programs: true,
  unbound: true,
}).extend({
  number: z.number().int(),
  questions: z.array(z.string()).describe("what the policy asks about it; none if it allows it"),
  action_id: z.string().nullable().describe("the action that took the step; null before"),
});
export type PlanStep = z.infer<typeof PlanStep>;

/**
 * `GET /api/actions/:id`: the action with everything that a reviewer needs for a decision. A text is
 * null if the file is binary, absent or too large to show; hashes and sizes are always present.
 */
export const ActionDetail = Detail.extend({
  lease: z.object({
    title: z.string(),
    seconds: z.number().int().describe("how long the approval holds"),
    ends_at: z.string().nullable().describe("of an approved plan"),
    steps: z.array(PlanStep),
  }).nullable().describe("of a plan: the actions that follow; one approval holds for all of them"),
});
export type ActionDetail = z.infer<typeof ActionDetail>;

/** A file of an action as an image: its type and size by its first bytes, its content in base64. */
export const ShownImage = z.object({
  type: z.enum(["image/png", "image/jpeg", "image/gif", "image/webp"]),
  width: z.number().int(),
  height: z.number().int(),
  bytes: z.number().int(),
  data: z.string().describe("base64"),
});
export type ShownImage = z.infer<typeof ShownImage>;

/** Answer of a rollback: the rolled-back action, and the rollback as an action. */
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
  left: z.string().optional()
    .describe("what a rollback of a command leaves, or may leave; absent if it restores all"),
});
export type RollbackResult = z.infer<typeof RollbackResult>;
