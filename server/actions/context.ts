import type { ApprovalRoutes } from "../approval_routes/approval_routes.ts";
import type { Signer } from "../audit/signer.ts";
import type { Caller } from "../auth/schema.ts";
import type { Config } from "../config/config.ts";
import type { Environment } from "../environment.ts";
import type { Ledger } from "../db/ledger.ts";
import { GateError, reasonOfCode } from "../errors.ts";
import type { Bus } from "../events/bus.ts";
import type { NamedPaths } from "../policy/named_paths.ts";
import type { Proofs } from "../proof/proofs.ts";
import type { SeenFiles } from "../runtime/file_image.ts";
import type { Sandboxes } from "../sandbox/sandboxes.ts";
import type { Team } from "../team/team.ts";
import type { Guarding } from "./guarding/guarding.ts";
import type { Intake } from "./intake.ts";
import type { KnownContents } from "./known_contents.ts";
import type { Openings } from "./review/openings.ts";
import type { Serial } from "./scheduling.ts";
import type { Blocks } from "../remediation/blocks.ts";
import type { Thresholds } from "../remediation/thresholds.ts";
import { type ActionRow, findAction } from "./store.ts";
import type { Budgets } from "./submit/budgets.ts";
import type { History } from "./submit/history.ts";

/** The other projects of the machine. */
export interface Neighbours {
  /** The projects whose files an action touches. Their rules apply too. */
  touched: (named: NamedPaths) => Promise<Neighbour[]>;
  all: () => Promise<Neighbour[]>;
  /** The folders of all projects, this one included. */
  roots: () => Promise<string[]>;
}

/** Another project, with its rules. */
export interface Neighbour {
  id: string;
  config: Pick<Config, "inForce">;
}

/** The session of an action. */
export interface ActionSession {
  id: string;
  root: string;
  agent: string;
  host: string;
  ended_at: string | null;
  /** Why every call of the session is denied; null if it is not blocked. */
  block_reason: string | null;
  /** The project of the folder that the host opened, if it is another one. */
  home_project: string | null;
}

/** Finds the sessions of a project. */
export interface SessionSource {
  /** @throws GateError `not_found` */
  get(id: string): Promise<ActionSession>;
  /** The named session, else the caller's default session. @throws GateError `not_found`, `conflict` */
  resolve(id: string | undefined, caller: Caller): Promise<ActionSession>;
  /** The same session with the block that it has now. */
  withBlock(session: ActionSession): Promise<ActionSession>;
}

/** The services of one project. `Project` creates them. */
export interface ActionServices {
  project_id: string;
  /** Real paths of the project's folders, at least one. The first is the main folder. */
  roots: readonly string[];
  environment: Environment;
  ledger: Ledger;
  config: Config;
  sessions: SessionSource;
  bus: Bus;
  neighbours: Neighbours;
  /** Asks a person for a proof of each decision, and checks the proofs in the log. */
  proofs: Pick<Proofs, "require" | "eventCheck">;
  /** Makes codes that only this machine can make. */
  signer: Pick<Signer, "seal">;
  /** The people who may decide. */
  team: Pick<Team, "people" | "requireDecider">;
  /** Who approves which held actions. */
  routes: Pick<ApprovalRoutes, "inForce">;
  /** Checks the approved plan behind an action. */
  leases: LeaseCheck;
  /** Watches the guarded files of the machine while commands run. */
  guarding: Guarding;
  /** Builds the sandboxes of commands. */
  sandboxes: Sandboxes;
  /** The walls of the sandbox that people opened. */
  openings: Pick<Openings, "ofSession" | "forget">;
  /** The contents that the ledger holds already. */
  contents: KnownContents;
  /** Counts what sessions change without a person. */
  budgets: Budgets;
  /** Blocks sessions that policy denies too often. */
  /** The blocks of the project, which end at their time. */
  blocks: Pick<Blocks, "endDue" | "nextEnd" | "onAdded">;
  thresholds: Thresholds;
  /** The earlier actions of the sessions. */
  history: History;
  /** Counts the bytes that agents add to the ledgers of the machine. */
  intake: Intake;
  /** A cache of file contents for views. Decisions always read the file. */
  seen: SeenFiles;
}

/** The state that all verbs of one project share. */
export interface ActionContext {
  services: ActionServices;
  /** Changes of files run one at a time. */
  serial: Serial;
  /** Uses of grants are counted one at a time. */
  granting: Serial;
  /** Votes are counted one at a time. */
  voting: Serial;
  /** Ids of actions that this process executes, or is about to execute. */
  running: Set<string>;
  deadlines: Deadlines;
}

/** Checks the approved plan that an action is a step of. */
export interface LeaseCheck {
  /** Why the plan no longer allows the action, to which the policy has these questions; null if it does. */
  whyEnded(row: ActionRow, questions: readonly string[]): Promise<string | null>;
}

/** Expires held actions and recovers abandoned executions. */
export interface Deadlines {
  /** Checks at this time at the latest. */
  schedule(at: string): void;
  /** Checks soon, because an execution has started. */
  soon(): void;
  /** Checks now. */
  expireDue(): Promise<void>;
}

/** The current time plus `later_ms`, as an ISO 8601 string. */
export function timestamp(environment: Environment, later_ms = 0): string {
  return new Date(environment.now() + later_ms).toISOString();
}

/** @throws GateError `not_found` */
export async function loadAction(
  { ledger }: Pick<ActionServices, "ledger">,
  id: string,
): Promise<ActionRow> {
  const row = /^[0-9a-f-]{36}$/.test(id) ? await findAction(ledger, id) : null;
  if (row) return row;
  throw unknownAction(id);
}

/** The error for an action that does not exist, or that the caller may not know of. */
export function unknownAction(id: string): GateError {
  const shown = JSON.stringify(id.toWellFormed().slice(0, 100));
  return new GateError("not_found", `Cannot find action ${shown} in this project`, {
    fields: { unknown: "action" },
  });
}

/** The error for a verb that the action's current state excludes. Its fields show that state. */
export function notPossible(row: ActionRow, verb: string, why: string, next?: string): GateError {
  const { id, status, execution, decided_by, digest } = row;
  return new GateError("conflict", `Cannot ${verb} action "${id}": ${why}`, {
    fields: { action_id: id, why, current_status: status, execution, decided_by, digest },
    next,
  });
}

/** @throws GateError `digest_mismatch` if the person saw another plan than the action has now */
export function requireDigest(row: ActionRow, verb: string, expected: string | undefined): void {
  const { id, digest } = row;
  if (expected === undefined || expected === digest) return;
  const message = `Cannot ${verb} action "${id}": its plan is not the one that was shown; ` +
    "look at it again";
  throw new GateError("digest_mismatch", message, {
    fields: { action_id: id, expected_digest: expected, digest },
  });
}

/**
 * The message of whatever was thrown. A refusal of the operating system names `path`, because its own
 * message may name a descriptor of this process.
 */
export function messageOf(error: unknown, path?: string): string {
  if (!(error instanceof Error)) return String(error);
  const { code = "", path: named } = error as NodeJS.ErrnoException;
  const file = path ?? named;
  if (file === undefined || !/^E[A-Z]+$/.test(code)) return error.message;
  const next = REMEDIES[code] ?? "correct that";
  return `Cannot use "${file}": ${reasonOfCode(code)}; ${next}, then submit it again`;
}

const WRITABLE = "let gate's user write the file and its folder";

const REMEDIES: Record<string, string> = {
  EACCES: WRITABLE,
  EPERM: WRITABLE,
  EROFS: WRITABLE,
  ENOSPC: "make room on the disk",
};
