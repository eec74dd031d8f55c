import { type ReadonlySignal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ActionList } from "../../server/actions/list/schema.ts";
import type { Action } from "../../server/actions/schema.ts";
import { api, unwrap } from "../state/client.ts";
import { useProject, useWorkspace } from "../state/project.ts";

/** A list, or the number of actions, which nobody asks for here. */
type Found = ActionList | { count: number };

/** Shorter texts find too much. */
const LEAST = 3;
const MOST = "6";
/** People type on; each letter would be a search. */
const PAUSE_MS = 150;

/** The newest recorded actions with these words in path, command or reason; none while it searches. */
export function useRecorded(typed: string): ReadonlySignal<Action[]> {
  const project = useProject();
  const workspace = useWorkspace()?.id;
  const found = useSignal<Action[]>([]);
  useEffect(() => {
    found.value = [];
    const q = typed.trim();
    if (q.length < LEAST) return;
    let isLate = false;
    const read = async () => {
      const query = { q, limit: MOST };
      const within = { ...query, ...workspace && { workspace } };
      const answer = project === null
        ? await unwrap<Found>(api().api.global.actions.$get({ query: within }))
        : await unwrap<Found>(api(project).api.actions.$get({ query }));
      if (!isLate && "items" in answer) found.value = answer.items;
    };
    // The row that opens the whole search says what went wrong.
    const timer = setTimeout(() => void read().catch(() => {}), PAUSE_MS);
    return () => {
      isLate = true;
      clearTimeout(timer);
    };
  }, [typed, project, workspace]);
  return found;
}
