import { signal } from "@preact/signals";
import { useMemo, useRef } from "preact/hooks";
import type { Action } from "../../server/actions/schema.ts";
import { plain, sentenceOf } from "../parts/words.ts";
import { useAddress } from "../state/address.ts";
import { decidedHere } from "../state/live.ts";
import { usePending, useProject } from "../state/project.ts";

/** A card in the queue; `gone` after somebody else decided it. */
export type QueueItem = Action & { gone?: boolean };

/** The next undecided card in one direction. */
export function neighbour(items: QueueItem[], at: number, by: number): QueueItem | undefined {
  const from = at < 0 ? (by > 0 ? 0 : items.length - 1) : at + by;
  for (let next = from; next >= 0 && next < items.length; next += by) {
    if (!items[next]!.gone) return items[next];
  }
  return undefined;
}

/** The card to show after a decision: the next one, or else the last. */
export function after(items: QueueItem[], id: string): QueueItem | undefined {
  const at = items.findIndex((item) => item.id === id);
  const rest = items.filter((item) => item.id !== id && !item.gone);
  return items.slice(at + 1).find((item) => !item.gone) ?? rest.at(-1);
}

/**
 * The held actions that match the filter, oldest first. An action that somebody else decides keeps
 * its place, marked as gone, until the selection changes.
 */
export function useQueue(selected: string | null): QueueItem[] | null {
  const { query } = useAddress();
  const project = useProject();
  const all = usePending();
  const view = JSON.stringify([
    selected,
    project,
    query["workspace"],
    query["scope"],
    query["q"],
  ]);
  const kept = useRef<{ view: string; items: QueueItem[] }>({ view, items: [] });
  return useMemo(() => {
    if (all === null) return null;
    const wanted: QueueItem[] = all.filter((action) =>
      (query["scope"] === "all" || !project || action.project_id === project) &&
      matches(action, query["q"] ?? "")
    );
    const present = new Set(wanted.map((action) => action.id));
    const before = kept.current.view === view ? kept.current.items : [];
    const gone = before.filter((action) => !present.has(action.id) && !decidedHere.has(action.id))
      .map((action) => ({ ...action, gone: true }));
    const items = [...wanted, ...gone].sort((a, b) => a.created_at.localeCompare(b.created_at));
    kept.current = { view, items };
    return items;
  }, [all, view]);
}

function matches(action: Action, filter: string): boolean {
  const text = `${plain(sentenceOf(action))} ${action.agent} ${action.risk.level}`.toLowerCase();
  return filter.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

const media = matchMedia("(min-width: 960px)");
const wide = signal(media.matches);
media.addEventListener("change", () => wide.value = media.matches);

/** Whether the queue and the card are side by side. */
export function useWide(): boolean {
  return wide.value;
}
