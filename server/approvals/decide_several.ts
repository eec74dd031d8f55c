import type { Actions } from "../actions/actions.ts";
import type { Approved } from "../actions/schema.ts";
import type { Caller } from "../auth/schema.ts";
import type { Environment } from "../environment.ts";
import { GateError } from "../errors.ts";
import { toGateError } from "../guard/response.ts";
import type { Challenge } from "../proof/schema.ts";
import type { ApproveSeveralInput, RejectSeveralInput, ReviewOutcome } from "./schema.ts";

/** The parts of the daemon that several decisions need. */
export interface DecidingDaemon {
  projects: { ofAction(id: string): Promise<{ actions: Actions }> };
  team: { requireDecider(caller: Caller, verb: string): Promise<void> };
  log: Environment["log"];
}

/**
 * Approves actions of any project, one after the other. Each has an outcome of its own: a refused one
 * does not stop the others. Without the proofs that they need, nothing is decided.
 * @throws GateError `proof_required` with one challenge for each item; `forbidden`
 */
export async function approveSeveral(
  daemon: DecidingDaemon,
  { items, reason }: ApproveSeveralInput,
  caller: Caller,
): Promise<ReviewOutcome[]> {
  await daemon.team.requireDecider(caller, "approve the actions");
  const { proofs, ...person } = caller;
  if (proofs !== undefined && proofs.length !== items.length) {
    const why = `${items.length} are named, and ${proofs.length} proofs came`;
    throw new GateError("invalid", `Cannot approve the actions: ${why}; send one for each`);
  }
  const outcomes: ReviewOutcome[] = [];
  for (const [at, { id, ...item }] of items.entries()) {
    const by = { ...person, proof: proofs?.[at] ?? null };
    const given = { ...item, ...reason !== undefined && { reason } };
    outcomes.push(
      await outcomeOf(id, daemon.log, async () => {
        const { actions } = await daemon.projects.ofAction(id);
        return await actions.approve(id, given, by);
      }),
    );
  }
  if (proofs === undefined) requireProofs(outcomes);
  return outcomes;
}

/** Rejects actions of any project, as `approveSeveral` approves them. It needs no proof. */
export async function rejectSeveral(
  daemon: DecidingDaemon,
  { items, reason }: RejectSeveralInput,
  caller: Caller,
): Promise<ReviewOutcome[]> {
  await daemon.team.requireDecider(caller, "reject the actions");
  const outcomes: ReviewOutcome[] = [];
  for (const { id, ...item } of items) {
    const given = { ...item, ...reason !== undefined && { reason } };
    outcomes.push(
      await outcomeOf(id, daemon.log, async () => {
        const { actions } = await daemon.projects.ofAction(id);
        return await actions.reject(id, given, caller);
      }),
    );
  }
  return outcomes;
}

async function outcomeOf(
  id: string,
  log: Environment["log"],
  decide: () => Promise<Approved>,
): Promise<ReviewOutcome> {
  try {
    const action = await decide();
    const { status } = action;
    const outcome = status === "pending" ? "voted" : status === "rejected" ? status : "approved";
    return { id, outcome, action, problem: null };
  } catch (error) {
    // An error of one action must not hide what was decided about the others.
    const problem = toGateError(error, log).toProblem();
    return { id, outcome: "refused", action: null, problem };
  }
}

/** @throws GateError `proof_required` where a person has to sign first and nothing was decided */
function requireProofs(outcomes: readonly ReviewOutcome[]): void {
  const challenges = outcomes.map(({ problem }) => challengeIn(problem));
  if (challenges.every((one) => one === null)) return;
  // Decided ones must be reported, so then each refusal tells its challenge.
  if (outcomes.some(({ outcome }) => outcome === "approved")) return;
  const message = "Cannot approve the actions: a person must prove each of them; " +
    "sign the challenges and send them again";
  throw new GateError("proof_required", message, { fields: { challenges } });
}

function challengeIn(problem: ReviewOutcome["problem"]): Challenge | null {
  return problem?.code === "proof_required"
    ? (problem.challenge ?? null) as Challenge | null
    : null;
}
