import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

/** The rows that are drawn, and the height of each. */
interface RowWindow {
  first: number;
  /** The row after the last one. */
  end: number;
  row_height: number;
}

/** Rows drawn above and below the visible ones; the window moves in steps of half as many. */
const SPARE = 20;

/**
 * The rows of a long table that are in view, and some around them. All rows (`tr[aria-rowindex]`) of
 * `body` have the same height; `body` scrolls in its nearest `.scroll`.
 */
export function useRowWindow(body: RefObject<HTMLElement | null>, count: number): RowWindow {
  const [shown, setShown] = useState<RowWindow>({ first: 0, end: 2 * SPARE, row_height: 36 });
  useLayoutEffect(() => {
    const scroller = body.current?.closest(".scroll");
    if (!scroller) return;
    const look = () => {
      if (body.current) setShown((before) => windowOf(body.current!, scroller, before));
    };
    const sizes = new ResizeObserver(look);
    sizes.observe(scroller);
    scroller.addEventListener("scroll", look, { passive: true });
    look();
    return () => {
      sizes.disconnect();
      scroller.removeEventListener("scroll", look);
    };
  }, [count === 0]);
  const end = Math.min(count, shown.end);
  return { ...shown, first: Math.max(0, Math.min(shown.first, end - 1)), end };
}

function windowOf(body: HTMLElement, scroller: Element, before: RowWindow): RowWindow {
  const row = body.querySelector("tr[aria-rowindex]")?.getBoundingClientRect().height;
  const row_height = row || before.row_height;
  const above = scroller.getBoundingClientRect().top - body.getBoundingClientRect().top;
  const step = SPARE / 2;
  const at = Math.floor(above / row_height / step) * step;
  const first = Math.max(0, at - SPARE);
  const end = at + Math.ceil(scroller.clientHeight / row_height / step) * step + SPARE + step;
  const isSame = before.first === first && before.end === end && before.row_height === row_height;
  return isSame ? before : { first, end, row_height };
}

/** The rows to draw, in order: those of the window, and `kept`, which may be outside of it. */
export function drawnRows({ first, end }: RowWindow, kept: number | null): number[] {
  const rows = Array.from({ length: end - first }, (_, at) => first + at);
  if (kept === null || (kept >= first && kept < end)) return rows;
  return kept < first ? [kept, ...rows] : [...rows, kept];
}
