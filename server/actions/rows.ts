import type { Analysis, Decision } from "../policy/schema.ts";
import type { Session } from "../sessions/schema.ts";
import { digestOf } from "./digest.ts";
import type { Draft } from "./draft.ts";
import type { Asked, Plan } from "./plan.ts";
import { CHANGES_NOTHING, rate } from "./reach/forecast.ts";
import { assessRisk } from "./risk.ts";
import type { Reversibility } from "./schema.ts";
import { type ActionServices, timestamp } from "./services.ts";
import type { ActionRow } from "./store.ts";

export type NewRow = Omit<ActionRow, "seq">;

/** What a new action is made of. */
export interface RowParts {
  session: Pick<Session, "id" | "root" | "agent">;
  decision: Decision;
  analysis: Analysis | null;
  draft: Draft;
  replay_of?: string;
  rollback_of?: string;
}

/** A new action, pending. */
export function rowOf(services: ActionServices, parts: RowParts): NewRow {
  const { session, decision, analysis } = parts;
  const { environment, project_id } = services;
  return {
    id: environment.id(),
    project_id,
    root: session.root,
    session_id: session.id,
    agent: session.agent,
    ...described(parts),
    status: "pending",
    execution: "none",
    decision,
    edited: false,
    conflicts: [],
    replay_of: parts.replay_of ?? null,
    rollback_of: parts.rollback_of ?? null,
    created_at: timestamp(environment),
    analysis,
    ...UNDECIDED,
  };
}

/** What an edit replaces: everything that depends on what is going to be done. */
export function described(parts: Omit<RowParts, "session"> & { session: { root: string } }) {
  const { plan, irreversible } = parts.draft;
  const reversibility = reversibilityOf(parts.draft);
  const { decision, analysis, session: { root } } = parts;
  const change = plan.changes[0];
  return {
    tool: plan.tool,
    path: plan.path,
    command: plan.command,
    cwd: plan.cwd,
    plan,
    digest: digestOf(plan),
    risk: assessRisk({ plan, decision, analysis, root, irreversible, reversibility }),
    reversible: isReversible(reversibility),
    reversibility,
    before_sha256: change?.before?.sha256 ?? null,
    after_sha256: change?.after?.sha256 ?? null,
    bytes: change?.after?.bytes ?? null,
  };
}

function reversibilityOf({ plan, irreversible, reversibility }: Draft): Reversibility | null {
  if (reversibility) return reversibility;
  if (irreversible !== null) return { level: "not", kept: 0, why: sentence(irreversible) };
  const kept = plan.changes.filter(({ before }) => before !== null).length;
  return doesSomething(plan) ? rate([], kept, true) : null;
}

/** Whether a plan changes anything at all. */
export function doesSomething(plan: Plan): boolean {
  const { changes, emptied_folders, restored_folders = [], folder_modes = [], folders } = plan;
  const turned = [...folders?.made ?? [], ...folders?.removed ?? [], ...folder_modes];
  return changes.length + emptied_folders.length + restored_folders.length + turned.length > 0;
}

function isReversible(reversibility: Reversibility | null): boolean {
  return reversibility !== null && reversibility.level !== "not" &&
    reversibility.why !== CHANGES_NOTHING;
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The draft of what is blocked: names alone, nothing was looked up. */
export function blockedDraft(asked: Asked): Draft {
  const plan: Plan = { ...asked, changes: [], scripts: [], emptied_folders: [] };
  return { plan, contents: [], irreversible: null };
}

const UNDECIDED = {
  decided_at: null,
  expires_at: null,
  decided_by: null,
  reason: null,
  exit_code: null,
  error: null,
  proposed: null,
  decision_id: null,
  claim_id: null,
  claimed_by: null,
  started_at: null,
  finished_at: null,
  output_sha256: null,
  output_truncated: null,
  duration_ms: null,
};
