import { signal } from "@preact/signals";
import { Button } from "./button.tsx";
import { Icon } from "./icon.tsx";

/** A step that follows from a result; the page binds its key. */
interface NextStep {
  label: string;
  keys: string;
  run: () => unknown;
}

interface Toast {
  id: number;
  text: string;
  tone: "ok" | "danger" | "quiet";
  href: string | null;
  step: NextStep | null;
}

const SHOWN_MS = 6000;
/** An announcement with a next step is shown for so many milliseconds. */
export const STEP_SHOWN_MS = 12_000;
const toast = signal<Toast | null>(null);
const spoken = signal("");
let timer: ReturnType<typeof setTimeout> | undefined;
let last = 0;

/** Announces a result in the corner of the page and to screen readers. */
export function announce(
  what: { text: string; tone: Toast["tone"] },
  href: string | null,
  step: NextStep | null = null,
): void {
  clearTimeout(timer);
  last += 1;
  toast.value = { id: last, ...what, href, step };
  // A failure stays until the next announcement.
  if (what.tone === "danger") return;
  timer = setTimeout(() => toast.value = null, step ? STEP_SHOWN_MS : SHOWN_MS);
}

/** Announces something to screen readers only. */
export function speak(text: string): void {
  spoken.value = text;
}

/** Shows the current announcement. */
export function Toasts() {
  const now = toast.value;
  return (
    <>
      <div class="visually-hidden" role="status">{spoken.value}</div>
      <div class="toasts" role="status">
        {now && (
          <div key={now.id} class={`toast tone-${now.tone}`}>
            <Icon name={now.tone === "danger" ? "alert" : "check"} />
            <span class="toast-text">{now.text}</span>
            {now.step && (
              <Button
                kind="quiet"
                keys={now.step.keys}
                onClick={() => void now.step?.run()}
              >
                {now.step.label}
              </Button>
            )}
            {now.href && <a href={now.href}>View</a>}
            <button
              type="button"
              class="toast-close"
              aria-label="Close"
              onClick={() => toast.value = null}
            >
              <Icon name="x" />
            </button>
          </div>
        )}
      </div>
    </>
  );
}
