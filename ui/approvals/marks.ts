import { signal } from "@preact/signals";
import type { Action } from "../../server/actions/schema.ts";
import { announce } from "../parts/toast.tsx";
import { count } from "../parts/words.ts";
import { api, unwrap } from "../state/client.ts";
import { pending, removeDecided } from "../state/live.ts";
import { NotProved, Together } from "../state/proof.ts";

/** The marked cards, by id, each with the digest that was on the page. */
export const marks = signal<ReadonlyMap<string, string>>(new Map());

/** Marks or unmarks a card. */
export function turnMark({ id, digest }: { id: string; digest: string }): void {
  const next = new Map(marks.peek());
  if (next.get(id) === digest) next.delete(id);
  else next.set(id, digest);
  marks.value = next;
}

/** Approves the marked cards; a card with a new digest stays held. Asks for a proof once. */
export async function approveMarked(): Promise<void> {
  const marked = marks.peek();
  const held = pending.peek()?.filter((action) => marked.has(action.id)) ?? [];
  marks.value = new Map();
  const outcomes = await approveAll(held, marked);
  const recorded = outcomes.filter((outcome) => typeof outcome === "object");
  const approved = recorded.filter(({ status }) => status !== "pending");
  for (const action of approved) removeDecided(action);
  const unproved = held.filter((_, at) => outcomes[at] === "not proved");
  // Without a proof nothing was sent, so these cards stay marked.
  marks.value = new Map(unproved.map(({ id }) => [id, marked.get(id)!]));
  const left = marked.size - recorded.length - unproved.length;
  const voted = recorded.length - approved.length;
  const rest = [
    ...voted > 0 ? [`${voted} wait for more approvals`] : [],
    ...left > 0 ? [`${left} had changed or had been decided`] : [],
    ...unproved.length > 0 ? [`${unproved.length} without your proof`] : [],
  ];
  const text = [`Approved ${count(approved.length, "action")}`, ...rest].join("; ");
  announce({ text, tone: rest.length > 0 ? "danger" : "ok" }, null);
}

type Outcome = Action | "not proved" | "failed";

/** So many that each runs within the minute that a challenge lives. */
const MOST_TOGETHER = 25;

async function approveAll(
  held: Action[],
  marked: ReadonlyMap<string, string>,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  while (outcomes.length < held.length) {
    const some = held.slice(outcomes.length, outcomes.length + MOST_TOGETHER);
    const isRefused = outcomes.includes("not proved");
    const together = new Together(some.length, api());
    const each = (action: Action) => approve(action, marked.get(action.id)!, together);
    outcomes.push(
      ...isRefused ? some.map(() => "not proved" as const) : await Promise.all(some.map(each)),
    );
  }
  return outcomes;
}

async function approve(
  { id, project_id }: Action,
  digest: string,
  together: Together,
): Promise<Outcome> {
  try {
    return await unwrap<Action>(
      api(project_id, together.prove).api.actions[":id"].approve.$post({
        param: { id },
        json: { expected_digest: digest },
      }),
    );
  } catch (error) {
    return error instanceof NotProved ? "not proved" : "failed";
  } finally {
    together.end();
  }
}
