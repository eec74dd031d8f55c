import { listOfAction } from "../../audit/store.ts";
import type { Ledger, NewEvent, Statement } from "../../db/ledger.ts";
import { questionsOf } from "../../policy/grant.ts";
import type { Decision } from "../../policy/schema.ts";
import { lasts } from "../../time_span.ts";
import type { ActionServices } from "../context.ts";
import type { Lease, LeasedStep } from "../plan.ts";
import type { ActionRow, NewRow } from "../store.ts";
import { findAction } from "../store.ts";
import type { ActionEvaluation } from "../submit/evaluate.ts";
import { BY_POLICY, eventOf } from "../transition.ts";
import { whyNotApproved } from "./approval.ts";
import { hasLease, listLeases, whileUsed } from "./lease_store.ts";

/** A plan that a person approved, and how far its steps are. */
interface Standing {
  row: ActionRow;
  lease: Lease;
  approved_at: string;
  /** The actions that took its steps, in their order. */
  used_by: string[];
  ends_at: string;
}

/** One step of an approved plan: the decision that it makes, and the parts of its commit. */
export interface StepUse {
  decision: Decision;
  event: NewEvent;
  /** A condition: nobody took a step meanwhile. */
  only: Statement;
}

/** The sessions of a ledger, with whether they have ever submitted a plan. */
const known = new WeakMap<Ledger, Map<string, boolean>>();
const MAX_KNOWN = 10_000;

/** Remembers that a session has a plan, which a person may approve. */
export function noteLease(ledger: Ledger, session_id: string): void {
  const sessions = known.get(ledger) ?? new Map<string, boolean>();
  known.set(ledger, sessions);
  if (sessions.size >= MAX_KNOWN) sessions.clear();
  sessions.set(session_id, true);
}

/** Whether a session may have an approved plan. Most have none, and then nothing is read. */
export async function mayHaveLease(ledger: Ledger, session_id: string): Promise<boolean> {
  const found = known.get(ledger)?.get(session_id);
  if (found !== undefined) return found;
  const has = await hasLease(ledger, session_id);
  noteLease(ledger, session_id);
  known.get(ledger)!.set(session_id, has);
  return has;
}

/**
 * The next step of an approved plan that is exactly this action; null if there is none. The approval
 * answers the questions that the person saw and no others.
 */
export async function findStep(
  services: ActionServices,
  row: NewRow,
  evaluation: ActionEvaluation,
): Promise<StepUse | null> {
  const { ledger } = services;
  for (const plan of await listLeases(ledger, row.session_id)) {
    const step = plan.plan?.lease?.steps.find(({ digest }) => digest === row.digest);
    if (!step || !isRouted(plan, row)) continue;
    const standing = await standingOf(services, plan);
    if (standing === null || !leaseLasts(services, standing)) continue;
    const { used_by, lease: { steps } } = standing;
    const next = steps[used_by.length];
    if (next?.digest !== row.digest || !answers(next, questionsOf(evaluation.asks))) continue;
    if (!await isDone(services, used_by.at(-1))) continue;
    const number = used_by.length + 1;
    return {
      decision: decisionBy(standing, number, evaluation.decision),
      event: eventOf({ id: plan.id, session_id: plan.session_id }, "lease.used", BY_POLICY, {
        step: number,
        used_by: row.id,
        digest: row.digest,
      }),
      only: whileUsed(ledger.project_id, plan.id, used_by.length),
    };
  }
  return null;
}

/** Why the plan that allowed an action no longer does; null if it still does. */
export async function whyLeaseEnded(
  services: ActionServices,
  row: ActionRow,
  questions: readonly string[],
): Promise<string | null> {
  const { ledger, sessions } = services;
  const plan = await findAction(ledger, row.decision.lease_id!);
  const standing = plan && plan.session_id === row.session_id
    ? await standingOf(services, plan)
    : null;
  if (standing === null) return "no approval of its plan stands in the log";
  const at = standing.used_by.indexOf(row.id);
  const step = standing.lease.steps[at];
  if (step?.digest !== row.digest) return "it is no step of its plan";
  if (!leaseLasts(services, standing)) return "the approval of its plan has expired";
  const { ended_at } = await sessions.get(row.session_id);
  if (ended_at !== null) return "the session of its plan has ended";
  return answers(step, questions) ? null : "its plan does not cover what the policy now asks";
}

function leaseLasts(
  { environment, ledger }: ActionServices,
  { row, approved_at, ends_at }: Standing,
): boolean {
  const is_shared = ledger.machine !== null;
  return lasts(environment, row.id, { from: approved_at, until: ends_at }, { is_shared });
}

/** How far the steps of a plan are; null if nobody approved it. */
export async function standingOf(
  services: ActionServices,
  row: ActionRow,
): Promise<Standing | null> {
  const lease = row.plan?.lease;
  if (!lease || row.status !== "approved" || row.decided_by === "policy") return null;
  if (row.execution !== "succeeded" || await whyNotApproved(services, row) !== null) return null;
  const events = await listOfAction(services.ledger, row.id);
  const approved = events.findLast(({ type }) => type === "action.approved");
  if (!approved) return null;
  const used_by = events.filter(({ type }) => type === "lease.used")
    .map(({ data }) => String(data.used_by));
  const ends_at = new Date(Date.parse(approved.at) + lease.seconds * 1000).toISOString();
  return { row, lease, approved_at: approved.at, used_by, ends_at };
}

/** A step that asks other or more people than the plan did waits for them. */
function isRouted({ route: had }: ActionRow, { route }: NewRow): boolean {
  return route === null || (had?.id === route.id && had.quorum >= route.quorum);
}

function answers({ questions }: LeasedStep, asked: readonly string[]): boolean {
  return asked.every((one) => questions.includes(one));
}

/** Whether the step before is done: a plan ends with a step that failed. */
async function isDone({ ledger }: ActionServices, id: string | undefined): Promise<boolean> {
  if (id === undefined) return true;
  const before = await findAction(ledger, id);
  return before?.status === "approved" && before.execution === "succeeded" &&
    (before.exit_code ?? 0) === 0;
}

/** A step that the policy allows keeps its decision; it is counted all the same. */
function decisionBy(
  { row: { id, decided_by, plan }, lease: { steps }, ends_at }: Standing,
  number: number,
  decision: Decision,
): Decision {
  if (decision.effect === "allow") return decision;
  const until = `${ends_at.slice(0, 10)} ${ends_at.slice(11, 16)} UTC`;
  const reason =
    `Step ${number} of ${steps.length} of "${plan!.lease!.title}", which ${decided_by} ` +
    `approved until ${until} (plan ${id})`;
  const { sandbox } = decision;
  return { effect: "allow", rule: null, reason, alternative: null, sandbox, lease_id: id };
}
