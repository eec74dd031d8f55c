import { type ReadonlySignal, useComputed, useSignal } from "@preact/signals";
import type { Action } from "../../server/actions/schema.ts";
import type { GlobalActionQuery } from "../../server/global/schema.ts";
import { api, explain, unwrap } from "../state/client.ts";
import { daemon, useLive } from "../state/live.ts";
import { useWorkspace } from "../state/project.ts";

/** A page of actions with stable rows: new actions wait until `take` is called. */
export interface Feed {
  items: ReadonlySignal<Action[] | null>;
  /** The number of new actions. */
  waiting: ReadonlySignal<number>;
  take: () => void;
  next: ReadonlySignal<string | null>;
  problem: ReadonlySignal<string | null>;
}

interface Page {
  items: Action[];
  next_cursor: string | null;
}

type FeedQuery = Partial<Record<keyof GlobalActionQuery, string>>;

/** The actions of one project, or of all. The old rows stay until the new ones are loaded. */
export function useFeed(project: string | null, query: FeedQuery): Feed {
  const workspace = useWorkspace()?.id ?? null;
  const known = daemon.value !== null;
  const key = JSON.stringify([known, project, workspace, query]);
  const shown = useSignal<(Page & { key: string }) | null>(null);
  const latest = useSignal<Page | null>(null);
  const problem = useSignal<string | null>(null);
  useLive(
    key,
    async (late) => {
      if (!known) return;
      try {
        const page = await load(project, workspace && !project ? { ...query, workspace } : query);
        if (late.aborted) return;
        const before = shown.peek();
        latest.value = page;
        shown.value = { ...before?.key === key ? updated(before, page) : page, key };
        problem.value = null;
      } catch (error) {
        if (!late.aborted) problem.value = explain(error);
      }
    },
    ({ topic, project_id }) =>
      (topic === "actions" || topic === "approvals") && (!project || project_id === project),
  );
  return {
    items: useComputed(() => shown.value?.items ?? null),
    waiting: useComputed(() => missing(shown.value, latest.value)),
    take: () => shown.value = latest.value && { ...latest.value, key },
    next: useComputed(() => shown.value?.next_cursor ?? null),
    problem,
  };
}

function missing(shown: Page | null, latest: Page | null): number {
  const known = new Set(shown?.items.map((item) => item.id));
  return latest?.items.filter((item) => !known.has(item.id)).length ?? 0;
}

async function load(project: string | null, query: FeedQuery): Promise<Page> {
  const parameters = query as Record<string, string>;
  const answer = project
    ? await unwrap<Page | { count: number }>(api(project).api.actions.$get({ query: parameters }))
    : await unwrap<Page | { count: number }>(api().api.global.actions.$get({ query: parameters }));
  if ("count" in answer) {
    throw new Error("Cannot list the actions: the daemon answered with a count");
  }
  return answer;
}

// Rows keep their places and only their content is updated. An empty page shows new rows at once.
function updated(shown: Page, latest: Page): Page {
  if (shown.items.length === 0) return latest;
  const fresh = new Map(latest.items.map((item) => [item.id, item]));
  return { ...shown, items: shown.items.map((item) => fresh.get(item.id) ?? item) };
}
