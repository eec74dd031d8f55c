import { signal } from "@preact/signals";

const NAME = "gate.key";
const LIFE_MS = 12 * 60 * 60 * 1000;

/** The key that this page sends with each request; null shows the login page. */
export const key = signal<string | null>(null);

/** Moves the key from the URL into storage, or reads the stored one. Runs before anything else. */
export function openKey(): void {
  const given = new URLSearchParams(location.hash.slice(1)).get("key");
  if (given) {
    history.replaceState(null, "", location.pathname + location.search);
    write({ key: given, until: Date.now() + LIFE_MS });
  }
  key.value = given ?? read();
  // A login in another tab is valid here too.
  addEventListener("storage", () => key.value = read());
}

/** Deletes a key that the daemon no longer accepts. */
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

// Without storage, the key works until the page is closed.
function write(value: { key: string; until: number }): void {
  try {
    localStorage.setItem(NAME, JSON.stringify(value));
  } catch {
    return;
  }
}
