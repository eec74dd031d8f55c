import { effect, signal } from "@preact/signals";

type Theme = "system" | "light" | "dark";
const NAME = "gate.theme";
const NEXT: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };

/** The chosen theme; `system` follows the operating system. */
export const theme = signal<Theme>("system");

/** Applies the saved theme, and saves each later choice. */
export function openTheme(): void {
  const kept = localStorage.getItem(NAME);
  if (kept === "light" || kept === "dark") theme.value = kept;
  effect(() => {
    document.documentElement.dataset["theme"] = theme.value;
    localStorage.setItem(NAME, theme.value);
  });
}

/** Switches from system to light, to dark, and back to system. */
export function turnTheme(): void {
  theme.value = NEXT[theme.value];
}
