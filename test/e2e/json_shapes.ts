import { z } from "zod";
import { DoctorReport } from "../../server/doctor/schema.ts";
import { AnalyticsSummary, Attention } from "../../server/analytics/schema.ts";
import { AgentSnapshot, EndedSession } from "../../server/agent_monitor/schema.ts";
import { Action, ActionDetail, HeldAction, RollbackResult } from "../../server/actions/schema.ts";
import { AuditVerification, Checkpoint } from "../../server/evidence/schema.ts";
import { ConfigView, GlobalConfig } from "../../server/config/schema.ts";
import { DaemonStatus } from "../../server/global/schema.ts";
import { Grant } from "../../server/grants/schema.ts";
import { PolicyTestResult } from "../../server/policy/schema.ts";
import { PolicySuggestions } from "../../server/trials/schema.ts";
import { ProofKind, ProofStatus } from "../../server/proof/schema.ts";
import { HubProject, StorageView } from "../../server/projects/schema.ts";
import { Block, Compliance, Recommendations } from "../../server/remediation/schema.ts";
import { Risk } from "../../server/risk/schema.ts";
import {
  ListedSession,
  Session,
  SessionDiff,
  SessionRollbackResult,
} from "../../server/sessions/schema.ts";
import { ApprovalRoute, RouteTestResult } from "../../server/approval_routes/schema.ts";
import { Receiver } from "../../server/config/notifications/schema.ts";
import {
  Delivery,
  NotificationStatus,
  RetryResult,
  TestResult,
} from "../../server/notifications/schema.ts";
import { Member, TeamStatus, Whoami } from "../../server/team/schema.ts";
import { Workspace } from "../../server/workspaces/schema.ts";

const text = z.string();
const pid = z.number().int().positive();
const path = text.startsWith("/");
const url = text.startsWith("http://localhost:");
const backup = path.nullable();

const started = z.strictObject({
  started: z.boolean(),
  version: text,
  port: z.number().int(),
  pid,
  url,
});

const hostFile = z.strictObject({
  host: text,
  outcome: z.enum(["added", "updated", "unchanged", "not_installed", "failed"]),
  file: path.nullable(),
  via: z.enum(["claude", "file"]).nullable().optional(),
  backup: backup.optional(),
  diff: text.optional(),
  problem: text.optional(),
  next: text.nullable().optional(),
});

const server = z.strictObject({ name: text, project: text.nullable() });

const serviceFile = { manager: z.enum(["systemd", "launchd"]), file: path };

/**
 * The `--json` output of each command. Programs depend on it, so a change here is a breaking change.
 * A strict shape rejects keys that it does not name.
 */
export const SHAPES: Record<string, z.ZodType> = {
  demo: z.strictObject({
    ok: z.literal(true),
    scenes: z.array(z.strictObject({ title: text, happened: z.array(text) })),
    elapsed_ms: z.number(),
  }),
  init: z.strictObject({
    dry_run: z.boolean(),
    file: path,
    outcome: z.enum(["created", "updated", "unchanged"]),
    backup,
    registered_as: text.nullable(),
    hooks: z.null(),
    text,
  }),
  "global-setup": z.looseObject({
    dry_run: z.boolean(),
    server: z.strictObject({
      name: z.literal("gate"),
      command: path,
      args: z.array(text),
      env: z.record(text, text),
    }),
    hosts: z.array(hostFile),
  }),
  "cleanup-mcp": z.strictObject({
    dry_run: z.boolean(),
    looked_at_projects: z.boolean(),
    files: z.array(z.strictObject({
      host: text,
      file: path,
      removed: z.array(server),
      kept: z.array(server),
      backup: backup.optional(),
      diff: text.optional(),
      problem: text.optional(),
      next: text.nullable().optional(),
    })),
  }),
  "update-instructions": z.strictObject({
    check: z.boolean(),
    files: z.array(z.strictObject({
      root: path,
      file: text.nullable(),
      outcome: z.enum(["created", "updated", "unchanged", "failed"]),
      backup: backup.optional(),
      diff: text.optional(),
      problem: text.optional(),
      next: text.nullable().optional(),
    })),
  }),
  "global-config init": z.strictObject({
    dry_run: z.boolean(),
    file: path,
    outcome: z.enum(["created", "unchanged"]),
  }),
  "global-config show": GlobalConfig,
  "hub status": StorageView,
  "project list": z.array(HubProject),
  "project remove": z.strictObject({ id: text }),
  "project trust-override": z.strictObject({ id: text, trusted: z.boolean() }),
  "proof status": ProofStatus,
  "proof set": z.union([ProofStatus, z.strictObject({ url })]),
  "proof change": ProofStatus,
  "proof remove": ProofStatus,
  "config show": ConfigView,
  "config accept": ConfigView,
  "route add": ApprovalRoute,
  "route change": ApprovalRoute,
  "route remove": ApprovalRoute,
  "route list": z.array(ApprovalRoute),
  "route test": RouteTestResult,
  "notify list": NotificationStatus,
  "notify add": Receiver,
  "notify remove": Receiver,
  "notify test": TestResult,
  "notify failed": z.array(Delivery),
  "notify retry": RetryResult,
  "notify discard": Delivery,
  "team add": Member.extend({ url }),
  "team list": z.array(Member),
  "team whoami": Whoami,
  "team change": Member,
  "team link": z.strictObject({ url }),
  "team accept": TeamStatus,
  "team remove": Member,
  "workspace create": Workspace,
  "workspace add-project": Workspace,
  "workspace remove-project": Workspace,
  "workspace remove": z.strictObject({ id: text }),
  "workspace list": z.array(Workspace),
  "workspace show": Workspace.extend({ projects: z.array(HubProject) }),
  "workspace start": Workspace.extend({ url }),
  "daemon start": started,
  "daemon restart": started,
  "daemon stop": z.strictObject({ stopped: z.boolean() }),
  "daemon status": DaemonStatus,
  "daemon logs": z.looseObject({
    at: z.iso.datetime(),
    level: z.enum(["info", "warn", "error"]),
    message: text,
  }),
  "service install": z.strictObject({ dry_run: z.literal(true), ...serviceFile, text }),
  "service remove": z.strictObject({ outcome: z.enum(["removed", "absent"]), file: path }),
  "service status": z.strictObject({
    ...serviceFile,
    installed: z.boolean(),
    current: z.boolean(),
    enabled: z.boolean(),
    running: z.boolean(),
    pid: pid.nullable(),
    says: text,
    daemon_pid: pid.nullable(),
  }),
  "service logs": z.looseObject({ message: text }),
  status: z.strictObject({
    daemon: DaemonStatus,
    root: path.nullable(),
    project: HubProject.nullable(),
    pending: z.number().int(),
    health: z.strictObject({ error: text.nullable(), warnings: z.array(text) }).nullable(),
    proof: ProofKind,
  }),
  doctor: DoctorReport,
  dashboard: z.strictObject({ url }),
  prompt: z.strictObject({ running: z.boolean(), pending: z.number().int() }),
  pending: z.array(HeldAction),
  show: ActionDetail,
  approve: Action,
  reject: Action,
  "analytics summary": AnalyticsSummary,
  "analytics attention": Attention,
  "grant list": z.array(Grant),
  "grant revoke": Grant,
  rollback: RollbackResult,
  log: z.array(Action),
  agents: AgentSnapshot,
  "agents history": z.array(EndedSession),
  "session list": z.array(ListedSession),
  "session show": ListedSession,
  "session diff": SessionDiff,
  "session blocks": z.array(Block),
  "session assess": Risk,
  "session evaluate": Compliance,
  "session recommend": Recommendations,
  "session rollback": SessionRollbackResult,
  "session end": Session,
  "policy test": PolicyTestResult,
  "policy explain": PolicyTestResult,
  "policy suggest": PolicySuggestions,
  "audit verify": z.array(AuditVerification),
  "audit checkpoint": Checkpoint,
};

/** Commands whose output another test checks, with that test. */
export const ELSEWHERE: Record<string, string> = {
  watch: "a stream of actions, a line each: test/cli/commands/interactive.test.ts",
  "agents terminate": "a session has to leave a server first: test/cli/commands/agents.test.ts",
  "notify discard": "a message has to be there: test/cli/commands/notify.test.ts",
  "notify test": "a receiver has to listen: test/cli/commands/notify.test.ts",
  gc: "a retention has to be accepted: test/cli/commands/gc.test.ts",
  "hub join": "a server has to be there: test/cli/commands/hub.test.ts",
  "hub leave": "a server has to be there: test/cli/commands/hub.test.ts",
  "policy bench": "figures of a corpus: test/cli/commands/policy.test.ts",
  "policy replay": "test/cli/policy",
  "policy templates": "the data file server/policy/templates.ts: test/cli/commands/policy.test.ts",
  "sandbox close": "a wall has to be opened first: test/cli/commands/sandbox.test.ts",
  "sandbox open": "an engine has to be there: test/cli/commands/sandbox.test.ts",
  "sandbox show": "a wall has to be opened first: test/cli/commands/sandbox.test.ts",
  "session unblock": "a session has to be blocked first: test/e2e/guarding.test.ts",
};
