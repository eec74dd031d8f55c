import { signal } from "@preact/signals";
import type { Action } from "../../server/actions/schema.ts";
import { announce } from "../parts/toast.tsx";
import { count } from "../parts/words.ts";
import { api, unwrap } from "../state/client.ts";
import { pending, removeDecided } from "../state/live.ts";

/** The marked cards, by id, each with the digest that was on the page. */
export const marks = signal<ReadonlyMap<string, string>>(new Map());

/** Marks or unmarks a card. */
export function turnMark({ id, digest }: { id: string; digest: string }): void {
  const next = new Map(marks.peek());
  if (next.get(id) === digest) next.delete(id);
  else next.set(id, digest);
  marks.value = next;
}

/** Approves the marked cards; a card with a new digest stays held. */
export async function approveMarked(): Promise<void> {
  const marked = marks.peek();
  const held = pending.peek()?.filter((action) => marked.has(action.id)) ?? [];
  marks.value = new Map();
  const answers = await Promise.all(
    held.map((action) => approve(action, marked.get(action.id)!)),
  );
  const approved = answers.filter((answer) => answer !== null);
  for (const action of approved) removeDecided(action);
  const left = marked.size - approved.length;
  const rest = left > 0 ? `; ${left} had changed or had been decided` : "";
  announce(
    {
      text: `Approved ${count(approved.length, "action")}${rest}`,
      tone: left > 0 ? "danger" : "ok",
    },
    null,
  );
}

async function approve({ id, project_id }: Action, digest: string): Promise<Action | null> {
  try {
    return await unwrap<Action>(
      api(project_id).api.actions[":id"].approve.$post({
        param: { id },
        json: { expected_digest: digest },
      }),
    );
  } catch {
    return null;
  }
}
