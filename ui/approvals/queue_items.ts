import { signal } from "@preact/signals";
import { useMemo, useRef } from "preact/hooks";
import type { Action } from "../../server/actions/schema.ts";
import { plain, sentenceOf } from "../parts/words.ts";
import { useAddress } from "../state/address.ts";
import { decidedHere } from "../state/live.ts";
import { nameOfProject, usePending, useProject } from "../state/project.ts";
import { arrange, keepPlaces, type Sort } from "./arrange.ts";
import { snoozeOf, snoozes } from "./snoozes.ts";

/** A card in the queue; `gone` after somebody else decided it. */
export type QueueItem = Action & { gone?: boolean; asleep?: boolean };

/** The cards of the queue, in the order of the page. */
export interface QueueItems {
  items: QueueItem[];
  /** Cards came later, so the list is not quite in its order. */
  isLate: boolean;
}

/** The next undecided card in one direction. */
export function neighbour(items: QueueItem[], at: number, by: number): QueueItem | undefined {
  const from = at < 0 ? (by > 0 ? 0 : items.length - 1) : at + by;
  for (let next = from; next >= 0 && next < items.length; next += by) {
    if (!items[next]!.gone) return items[next];
  }
  return undefined;
}

/** The card to show after a decision: the next one, or else the last; a snoozed one comes last. */
export function after(items: QueueItem[], id: string): QueueItem | undefined {
  const at = items.findIndex((item) => item.id === id);
  const rest = items.filter((item) => item.id !== id && !item.gone);
  const isNext = (item: QueueItem) => !item.gone && !item.asleep;
  return items.slice(at + 1).find(isNext) ?? rest.findLast(isNext) ?? rest[0];
}

/** The order that the address asks for. */
export function useArrangement(): { sort: Sort; bySession: boolean } {
  const { query } = useAddress();
  return {
    sort: query["sort"] === "risk" || query["sort"] === "project" ? query["sort"] : "age",
    bySession: query["group"] === "session",
  };
}

const turn = signal(0);

/** Sorts the queue again, with what came later. */
export function sortAgain(): void {
  turn.value += 1;
}

/**
 * The held actions that match the filter. They keep their places while new ones come to the end, and
 * an action that somebody else decides stays, marked as gone, until the selection changes. Snoozed
 * ones are below all others.
 */
export function useQueue(selected: string | null): QueueItems | null {
  const { query } = useAddress();
  const project = useProject();
  const { sort, bySession } = useArrangement();
  const all = usePending();
  const asleep = useAsleep(all);
  const layout = JSON.stringify([
    ...[project, query["workspace"], query["scope"], query["q"]],
    ...[sort, bySession, turn.value],
  ]);
  const view = `${selected} ${layout}`;
  const kept = useRef<{ view: string; layout: string; items: QueueItem[] } | null>(null);
  return useMemo(() => {
    if (all === null) return null;
    const wanted: QueueItem[] = all.filter((action) =>
      (query["scope"] === "all" || !project || action.project_id === project) &&
      matches(action, query["q"] ?? "")
    );
    const present = new Set(wanted.map((action) => action.id));
    const shown = kept.current?.layout === layout ? kept.current.items : [];
    const before = kept.current?.view === view ? shown : [];
    const gone = before.filter((action) => !present.has(action.id) && !decidedHere.has(action.id))
      .map((action) => ({ ...action, gone: true }));
    const sorted = arrange([...wanted, ...gone], { sort, bySession, nameOf: nameOfProject });
    const placed = keepPlaces(sorted, shown.map(({ id }) => id));
    const isAwake = ({ id }: QueueItem) => !asleep.has(id);
    const items = [
      ...placed.filter(isAwake),
      ...placed.filter((item) => !isAwake(item)).map((item) => ({ ...item, asleep: true })),
    ];
    kept.current = { view, layout, items };
    const inOrder = sorted.filter(isAwake);
    return { items, isLate: inOrder.some(({ id }, at) => id !== items[at]!.id) };
  }, [all, view, asleep]);
}

/** The ids of the snoozed actions; the same set until one of them changes. */
function useAsleep(all: Action[] | null): ReadonlySet<string> {
  // Without snoozed actions the clock draws nothing again.
  const ids = snoozes.value.size === 0 || all === null
    ? []
    : all.filter((action) => snoozeOf(action) !== null).map(({ id }) => id);
  return useMemo(() => new Set(ids), [ids.join(" ")]);
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
