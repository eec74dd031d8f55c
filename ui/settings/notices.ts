import { effect, signal } from "@preact/signals";
import { plain, sentenceOf } from "../parts/words.ts";
import { pending, unread } from "../state/live.ts";

const NAME = "gate.notices";

/** Whether this browser shows a notification for each new held action. */
export const isNotifying = signal(false);

let stop: (() => void) | null = null;

/** Follows the held actions, if a person chose it and the browser still permits it. */
export function openNotices(): void {
  const isWanted = localStorage.getItem(NAME) === "on";
  isNotifying.value = isWanted && "Notification" in globalThis &&
    Notification.permission === "granted";
  if (isNotifying.value) stop ??= follow();
}

/** Asks the browser for the permission. Returns whether it gave it. */
export async function permitNotices(): Promise<boolean> {
  return "Notification" in globalThis && await Notification.requestPermission() === "granted";
}

/** Shows notifications from now on, in later pages of this browser too. */
export function startNotices(): void {
  localStorage.setItem(NAME, "on");
  openNotices();
}

/** Shows no more notifications. */
export function stopNotices(): void {
  localStorage.removeItem(NAME);
  isNotifying.value = false;
  stop?.();
  stop = null;
}

/** A visible page shows its queue, so only a hidden one tells of what is new. */
function follow(): () => void {
  let known: ReadonlySet<string> | null = null;
  return effect(() => {
    const actions = pending.value;
    if (actions === null || unread.value > 0) return;
    const added = actions.filter(({ id }) => known !== null && !known.has(id));
    known = new Set(actions.map(({ id }) => id));
    if (document.visibilityState === "visible") return;
    for (const action of added.slice(-MOST_AT_ONCE)) {
      const title = "An action waits for your decision";
      const body = plain(sentenceOf(action)).slice(0, MAX_TEXT);
      const notice = new Notification(title, { body, tag: action.id });
      notice.onclick = () => {
        globalThis.focus();
        location.assign(
          `/approvals?${new URLSearchParams({ project: action.project_id, id: action.id })}`,
        );
      };
    }
  });
}

const MOST_AT_ONCE = 3;
const MAX_TEXT = 200;
