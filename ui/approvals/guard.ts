/** A card that came by itself, or has changed, accepts no decision for this long. */
export const NEW_MS = 700;

/**
 * A card that the person's own press brought waits this long: desktops join two presses within it
 * into one double press.
 */
const NEXT_MS = 400;

let step: { id: string; pressed_at: number } | null = null;

/** Notes which card follows a press of the person. @param pressed_at by `performance.now()` */
export function noteStep(id: string, pressed_at: number = performance.now()): void {
  step = { id, pressed_at };
}

/**
 * How long a card that is drawn now accepts no decision. The short wait needs a press that has just
 * brought this card, and a card that was here unchanged before that press: an agent chooses neither.
 *
 * @param read_at when this page read this version of the card
 */
export function waitOf(id: string, read_at: number): number {
  if (step?.id !== id) return NEW_MS;
  const isPrompt = performance.now() - step.pressed_at < NEXT_MS;
  return isPrompt && read_at <= step.pressed_at - NEW_MS ? NEXT_MS : NEW_MS;
}

/** Calls `back` when the person comes back to this tab or window; returns how to stop. */
export function onReturn(back: () => void): () => void {
  const look = () => document.visibilityState === "visible" && back();
  document.addEventListener("visibilitychange", look);
  addEventListener("focus", look);
  return () => {
    document.removeEventListener("visibilitychange", look);
    removeEventListener("focus", look);
  };
}
