import type { Action } from "../../server/actions/schema.ts";
import { announce } from "../parts/toast.tsx";
import { plain, sentenceOf } from "../parts/words.ts";
import { whyNotRollback } from "../rollback/rollback.ts";
import { api, explain, unwrap } from "../state/client.ts";

/** Why a decision stays as it is; null if a rollback restores what was there before. */
function whyFinal(action: Action): string | null {
  if (action.status === "rejected") {
    return "A rejection is final; the agent can submit the action again";
  }
  if (action.status === "pending") return "A recorded approval is final; the action is still held";
  if (action.command !== null && action.execution !== "succeeded") {
    return "The agent runs the command; roll back what it changed from its record";
  }
  return whyNotRollback(action);
}

/** Rolls back an action that was just approved; files that changed meanwhile stay untouched. */
export async function rollBackLast(action: Action, href: string): Promise<void> {
  const what = plain(sentenceOf(action));
  const why = whyFinal(action);
  if (why !== null) return announce({ text: `${why}: ${what}`, tone: "danger" }, href);
  try {
    await unwrap(
      api(action.project_id).api.actions[":id"].rollback.$post({
        param: { id: action.id },
        json: { on_conflict: "abort", expected_digest: action.digest },
      }),
    );
    announce({ text: `Rolled back: ${what}`, tone: "ok" }, href);
  } catch (error) {
    announce({ text: `Not rolled back: ${what}. ${explain(error)}`, tone: "danger" }, href);
  }
}
