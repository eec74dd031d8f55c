import { signal } from "@preact/signals";

const NAME = "gate.key";
const LIFE_MS = 12 * 60 * 60 * 1000;

/** The key this page sends with every call; null shows the page that says how to get one. */
export const key = signal<string | null>(null);

/** Takes the key out of the address before anything else runs, else the one kept earlier. */
export function openKey(): void {
  const given = new URLSearchParams(location.hash.slice(1)).get("key");
  if (given) {
    history.replaceState(null, "", location.pathname + location.search);
    write({ key: given, until: Date.now() + LIFE_MS });
  }
  key.value = given ?? read();
  // A login in another tab lets this one in, too.
  addEventListener("storage", () => key.value = read());
}

/** Forgets a key that the daemon no longer takes. */
export function forgetKey(): void {
  try {
    localStorage.removeItem(NAME);
  } finally {
    key.value = null;
  }
}

function read(): string | null {
  try {
    const kept = JSON.parse(localStorage.getItem(NAME) ?? "null") as
      | { key?: unknown; until?: unknown }
      | null;
    if (typeof kept?.key !== "string" || typeof kept.until !== "number") return null;
    return kept.until > Date.now() ? kept.key : null;
  } catch {
    return null;
  }
}

// A browser that keeps nothing still works until the page is closed.
function write(value: { key: string; until: number }): void {
  try {
    localStorage.setItem(NAME, JSON.stringify(value));
  } catch {
    return;
  }
}
