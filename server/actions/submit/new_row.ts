import type { Analysis, Decision } from "../../policy/schema.ts";
import { type Circumstances, NO_CIRCUMSTANCES } from "../../risk/facts.ts";
import { mergeRisk } from "../../policy/risk_weights.ts";
import { type ActionServices, type ActionSession, timestamp } from "../context.ts";
import { CHANGES_NOTHING, rateReversibility } from "../effects/forecast.ts";
import { changesAnything, digestOf, type Plan } from "../plan.ts";
import type { Risk } from "../../risk/schema.ts";
import type { Reversibility } from "../schema.ts";
import type { NewRow } from "../store.ts";
import type { Planned } from "./plan_action.ts";
import type { ActionEvaluation } from "./evaluate.ts";
import { assessAction } from "./risk.ts";

/** The parts of a new action. */
export interface RowParts {
  session: Pick<ActionSession, "id" | "root" | "agent">;
  decision: Decision;
  analysis: Analysis | null;
  planned: Planned;
  /** The config in force; by default gate's own weights. */
  evaluation?: Pick<ActionEvaluation, "risk" | "around">;
  circumstances?: Circumstances;
  replay_of?: string;
  rollback_of?: string;
}

/** A new action with status `pending`. */
export function newRow(services: ActionServices, parts: RowParts): NewRow {
  const { session, decision, analysis } = parts;
  const { environment, project_id } = services;
  return {
    id: environment.id(),
    project_id,
    root: session.root,
    session_id: session.id,
    agent: session.agent,
    ...planFields(parts),
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

/** The fields that depend on the plan. An approval with edit replaces them. */
export function planFields(parts: Omit<RowParts, "session"> & { session: { root: string } }) {
  const { plan } = parts.planned;
  const reversibility = reversibilityOf(parts.planned);
  const change = plan.changes[0];
  return {
    tool: plan.tool,
    path: plan.path,
    command: plan.command,
    cwd: plan.cwd,
    plan,
    digest: digestOf(plan),
    risk: riskOf(parts),
    reversible: isReversible(reversibility),
    reversibility,
    before_sha256: change?.before?.sha256 ?? null,
    after_sha256: change?.after?.sha256 ?? null,
    bytes: plan.taken_from ? bytesOf(plan) : change?.after?.bytes ?? null,
    lines: null,
  };
}

function bytesOf({ changes }: Plan): number {
  return changes.reduce((sum, { after }) => sum + (after?.bytes ?? 0), 0);
}

/** The risk of a planned action under the config in force. */
export function riskOf(
  { planned, decision, analysis, session, evaluation, circumstances }:
    & Omit<
      RowParts,
      "session"
    >
    & { session: { root: string } },
): Risk {
  const { plan, contents, irreversible } = planned;
  // A plan is as risky as its riskiest step.
  const [worst] = plan.lease?.steps.map(({ risk }) => risk)
    .toSorted((a, b) => b.score - a.score) ?? [];
  if (worst) return worst;
  return assessAction({
    ...{ plan, contents, irreversible, decision, analysis },
    root: session.root,
    user_home: evaluation?.around.user_home ?? "/",
    settings: evaluation?.risk ?? mergeRisk([]),
    circumstances: circumstances ?? NO_CIRCUMSTANCES,
  });
}

function reversibilityOf({ plan, irreversible, reversibility }: Planned): Reversibility | null {
  if (reversibility) return reversibility;
  if (irreversible !== null) return { level: "not", kept: 0, why: sentence(irreversible) };
  const kept = plan.changes.filter(({ before }) => before !== null).length;
  return changesAnything(plan) ? rateReversibility([], kept, true) : null;
}

function isReversible(reversibility: Reversibility | null): boolean {
  return reversibility !== null && reversibility.level !== "not" &&
    reversibility.why !== CHANGES_NOTHING;
}

function sentence(text: string): string {
  // The program's own name keeps its small letter.
  return text.startsWith("gate ") ? text : text.charAt(0).toUpperCase() + text.slice(1);
}

const UNDECIDED = {
  decided_at: null,
  expires_at: null,
  decided_by: null,
  reason: null,
  exit_code: null,
  error: null,
  proposed: null,
  route: null,
  decision_id: null,
  claim_id: null,
  claimed_by: null,
  started_at: null,
  finished_at: null,
  output_sha256: null,
  output_truncated: null,
  duration_ms: null,
};
