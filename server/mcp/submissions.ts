import { resolve } from "node:path";
import type { Action, SubmitInput } from "../actions/schema.ts";
import { type Client, unwrap } from "../client.ts";
import type { Submitted } from "./results.ts";
import { toolOf } from "../actions/tools.ts";

const MOST_NOTED = 1_000;
const LOOK_BACK = "100";

/**
 * The actions that this connection knows to be its own. A submission whose answer was lost with
 * the daemon is looked for among the others of its session before it is sent again: that costs
 * something when a daemon dies, where a key that the daemon has to keep would cost it every time.
 */
export class Submissions {
  readonly #noted = new Set<string>();

  /** The answer to this one has come. */
  note(action_id: string): void {
    this.#noted.add(action_id);
    if (this.#noted.size > MOST_NOTED) this.#noted.delete(this.#noted.values().next().value!);
  }

  /** Finds what became of a submission that was sent at `since`. */
  finder(input: SubmitInput, since: number): (client: Client) => Promise<Submitted | null> {
    return async (client) => {
      // Reading again does no harm.
      if (toolOf(input.tool).access === "read" || input.session_id === undefined) return null;
      const { items } = await unwrap(client.api.sessions[":id"].actions.$get({
        param: { id: input.session_id },
        query: { tool: input.tool, limit: LOOK_BACK },
      }));
      const found = items.find((action) =>
        Date.parse(action.created_at) >= since && !this.#noted.has(action.id) &&
        isAbout(action, input.input)
      );
      if (!found) return null;
      this.note(found.id);
      return await unwrap(client.api.actions[":id"].wait.$post({
        param: { id: found.id },
        json: { timeout_ms: 0 },
      }));
    };
  }
}

function isAbout(action: Action, input: Record<string, unknown>): boolean {
  if (toolOf(action.tool).shows === "command") return action.command === input.command;
  if (toolOf(action.tool).undoes) return action.rollback_of === input.action_id;
  const path = input.path ?? input.from;
  return typeof path === "string" && action.path !== null &&
    resolve(action.root, action.path) === resolve(action.root, path);
}
