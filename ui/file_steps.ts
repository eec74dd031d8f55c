/** Rounding and borders: a file this near the top is the one that is looked at. */
const NEAR_PX = 4;

/** Brings the next file of a pane to its top, or the one before with -1. */
export function stepFile(pane: HTMLElement | null, by: 1 | -1): void {
  if (!pane) return;
  const top = pane.getBoundingClientRect().top;
  const places = [...pane.querySelectorAll<HTMLElement>("section.file")]
    .map((file) => file.getBoundingClientRect().top - top);
  const next = by > 0
    ? places.find((place) => place > NEAR_PX)
    : places.findLast((place) => place < -NEAR_PX);
  if (next !== undefined) pane.scrollBy({ top: next });
}
