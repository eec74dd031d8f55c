import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";
const NAME = "gate.theme";
const NEXT: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };

/** What the reader chose; `system` follows the machine. */
export const theme = signal<Theme>("system");

/** Puts the kept choice on the page, and each later one. */
export function openTheme(): void {
  const kept = localStorage.getItem(NAME);
  if (kept === "light" || kept === "dark") theme.value = kept;
  effect(() => {
    document.documentElement.dataset["theme"] = theme.value;
    localStorage.setItem(NAME, theme.value);
  });
}

/** System, light, dark, and round again. */
export function turnTheme(): void {
  theme.value = NEXT[theme.value];
}
