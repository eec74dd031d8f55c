import { useSignal } from "@preact/signals";
import { bind, useKeys } from "./keys.ts";

/** A list whose rows keep their places: new items wait, and a removed item keeps its row. */
export interface Kept<T> {
  rows: { item: T; isGone: boolean }[];
  /** The number of new items. */
  waiting: number;
  take: () => void;
}

/**
 * Keeps the rows of `latest` until `key` changes or `take` is called; null until it is loaded. An
 * empty list fills itself, unless it `waits` because something stands below it.
 */
export function useKept<T extends { id: string }>(
  latest: { key: string; items: T[] } | null,
  { waits = false } = {},
): Kept<T> | null {
  const shown = useSignal<{ key: string; items: T[] } | null>(null);
  const before = shown.peek();
  const isFilled = before?.key === latest?.key && (waits || before?.items.length !== 0);
  if (latest && !isFilled) shown.value = latest;
  if (shown.value === null || latest === null) return null;
  const fresh = new Map(latest.items.map((item) => [item.id, item]));
  const rows = shown.value.items.map((item) => ({
    item: fresh.get(item.id) ?? item,
    isGone: !fresh.has(item.id),
  }));
  const known = new Set(shown.value.items.map(({ id }) => id));
  const waiting = latest.items.filter(({ id }) => !known.has(id)).length;
  return { rows, waiting, take: () => shown.value = latest };
}

/** Binds the key that shows the new items of these lists. */
export function useTakeKey(...lists: (Kept<{ id: string }> | null)[]): void {
  useKeys(bind("Show", [".", "Show what is new", () => lists.forEach((list) => list?.take())]));
}
