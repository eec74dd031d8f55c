import { signal } from "@preact/signals";

const media = matchMedia("(min-width: 960px)");
const wide = signal(media.matches);
media.addEventListener("change", () => wide.value = media.matches);

/** Whether list and card stand side by side. */
export function useWide(): boolean {
  return wide.value;
}
