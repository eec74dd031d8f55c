import type { ReviewOutcome } from "../../server/approvals/schema.ts";
import type { Action } from "../../server/actions/schema.ts";
import { announce } from "../parts/toast.tsx";
import { count } from "../parts/words.ts";
import { api, unwrap } from "../state/client.ts";
import { pending, removeDecided } from "../state/live.ts";
import { marks } from "./marks.ts";

/** The verb of a decision about the marked cards. */
export type Verb = "approve" | "reject";

/** A marked card that was not decided, and why. */
export interface Refused {
  action: Action;
  why: string;
}

/** So many are decided in one request; the daemon takes no more. */
const MOST_TOGETHER = 25;

/** The held cards of the list that are marked, oldest first. */
export function listMarked(listed: ReadonlySet<string>): Action[] {
  return pending.value?.filter(({ id }) => listed.has(id) && marks.value.has(id)) ?? [];
}

/**
 * Decides on marked cards, each by the digest that was on the page. The voted ones are no longer
 * marked. Returns those that were refused.
 * @throws NotProved, ProblemError; the cards that were not sent stay marked
 */
export async function decideMarked(
  verb: Verb,
  actions: readonly Action[],
  reason: string,
): Promise<Refused[]> {
  return await decideAll(verb, actions, { digests: marks.peek(), reason });
}

/**
 * Decides on these actions, each by its digest. The decided ones leave the queue. Returns those that
 * were refused. @throws NotProved, ProblemError
 */
export async function decideAll(
  verb: Verb,
  actions: readonly Action[],
  { digests, reason }: { digests: ReadonlyMap<string, string>; reason: string },
): Promise<Refused[]> {
  const outcomes: ReviewOutcome[] = [];
  try {
    while (outcomes.length < actions.length) {
      const some = actions.slice(outcomes.length, outcomes.length + MOST_TOGETHER);
      const items = some.map(({ id }) => ({ id, expected_digest: digests.get(id)! }));
      const json = { items, ...reason !== "" && { reason } };
      const decided = await unwrap(api().api.approvals[verb].$post({ json }));
      outcomes.push(...decided.outcomes);
    }
  } finally {
    settle(outcomes);
    if (outcomes.length > 0) tell(verb, outcomes);
  }
  return actions.flatMap((action, at) => {
    const { problem } = outcomes[at]!;
    return problem ? [{ action, why: problem.detail }] : [];
  });
}

/** Removes what was decided from the queue, and the marks of everything that was sent. */
function settle(outcomes: readonly ReviewOutcome[]): void {
  const rest = new Map(marks.peek());
  for (const { id, action } of outcomes) {
    rest.delete(id);
    if (action && action.status !== "pending") removeDecided(action);
  }
  marks.value = rest;
}

function tell(verb: Verb, outcomes: readonly ReviewOutcome[]): void {
  const of = (outcome: ReviewOutcome["outcome"]) =>
    outcomes.filter((one) => one.outcome === outcome).length;
  const [voted, refused] = [of("voted"), of("refused")];
  const done = outcomes.length - voted - refused;
  const failed = outcomes.filter(({ action }) => action?.execution === "failed").length;
  const rest = [
    ...voted > 0 ? [`${voted} wait for more approvals`] : [],
    ...failed > 0 ? [`${failed} could not be executed`] : [],
    ...refused > 0 ? [`${refused} refused`] : [],
  ];
  const word = verb === "approve" ? "Approved" : "Rejected";
  const text = [`${word} ${count(done, "action")}`, ...rest].join("; ");
  announce({ text, tone: rest.length > 0 ? "danger" : "ok" }, null);
}
