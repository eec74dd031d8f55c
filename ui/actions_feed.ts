import { type ReadonlySignal, useComputed, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Action, ActionQuery } from "../server/actions/schema.ts";
import { api, explain, unwrap } from "./client.ts";
import { onEvent } from "./state.ts";

/** A page of actions that stays where it is: what is new waits until it is asked for. */
export interface Feed {
  items: ReadonlySignal<Action[] | null>;
  /** How many have come since; `take` shows them. */
  waiting: ReadonlySignal<number>;
  take: () => void;
  next: ReadonlySignal<string | null>;
  problem: ReadonlySignal<string | null>;
}

interface Page {
  items: Action[];
  next_cursor: string | null;
}

export type FeedQuery = Partial<Record<keyof ActionQuery, string>>;

const REFRESH_MS = 250;

/** The actions of one project or, without one, of all. */
export function useFeed(project: string | null, query: FeedQuery): Feed {
  const shown = useSignal<Page | null>(null);
  const latest = useSignal<Page | null>(null);
  const problem = useSignal<string | null>(null);
  const key = JSON.stringify([project, query]);
  const current = useRef(key);
  current.current = key;
  useEffect(() => {
    shown.value = null;
    latest.value = null;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = async () => {
      try {
        const page = await load(project, query);
        if (current.current !== key) return;
        latest.value = page;
        shown.value = shown.peek() ? updated(shown.peek()!, page) : page;
        problem.value = null;
      } catch (error) {
        if (current.current === key) problem.value = explain(error);
      }
    };
    void read();
    const stop = onEvent((event) => {
      if (event && event.topic !== "actions" && event.topic !== "approvals") return;
      if (event && project && event.project_id !== project) return;
      clearTimeout(timer);
      timer = setTimeout(read, REFRESH_MS);
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [key]);
  return {
    items: useComputed(() => shown.value?.items ?? null),
    waiting: useComputed(() => {
      const known = new Set(shown.value?.items.map((item) => item.id));
      return latest.value?.items.filter((item) => !known.has(item.id)).length ?? 0;
    }),
    take: () => shown.value = latest.value,
    next: useComputed(() => shown.value?.next_cursor ?? null),
    problem,
  };
}

async function load(project: string | null, query: FeedQuery): Promise<Page> {
  const asked = query as Record<string, string>;
  const answer = project
    ? await unwrap<Page | { count: number }>(api(project).api.actions.$get({ query: asked }))
    : await unwrap<Page | { count: number }>(api().api.global.actions.$get({ query: asked }));
  if ("count" in answer) throw new Error("a list was asked for, not a count");
  return answer;
}

// Rows keep their places; only what they say is brought up to date. An empty page has none to keep.
function updated(shown: Page, latest: Page): Page {
  if (shown.items.length === 0) return latest;
  const fresh = new Map(latest.items.map((item) => [item.id, item]));
  return { ...shown, items: shown.items.map((item) => fresh.get(item.id) ?? item) };
}
