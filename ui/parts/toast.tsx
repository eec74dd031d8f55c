import { signal } from "@preact/signals";
import { Icon } from "./icon.tsx";

interface Toast {
  id: number;
  text: string;
  tone: "ok" | "danger" | "quiet";
  href: string | null;
}

const SHOWN_MS = 6000;
const toast = signal<Toast | null>(null);
const spoken = signal("");
let timer: ReturnType<typeof setTimeout> | undefined;
let last = 0;

/** Announces a result in the corner of the page and to screen readers. */
export function announce(what: { text: string; tone: Toast["tone"] }, href: string | null): void {
  clearTimeout(timer);
  last += 1;
  toast.value = { id: last, ...what, href };
  // A failure stays until the next announcement.
  if (what.tone !== "danger") timer = setTimeout(() => toast.value = null, SHOWN_MS);
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
