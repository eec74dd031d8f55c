import { signal } from "@preact/signals";

/** The marked cards, by id, each with the digest that was on the page. */
export const marks = signal<ReadonlyMap<string, string>>(new Map());

/** Marks or unmarks a card. */
export function turnMark({ id, digest }: { id: string; digest: string }): void {
  const next = new Map(marks.peek());
  if (next.get(id) === digest) next.delete(id);
  else next.set(id, digest);
  marks.value = next;
}
