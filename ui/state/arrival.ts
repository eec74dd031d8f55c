import type { RefObject } from "preact";
import { useEffect } from "preact/hooks";
import { useAddress } from "./address.ts";

/** Moves to the row that `at` in the address names, once the rows are loaded. */
export function useArrival(body: RefObject<HTMLElement | null>, isLoaded: boolean): void {
  const at = useAddress().query["at"];
  useEffect(() => {
    if (!isLoaded || !at) return;
    const row = body.current?.querySelector<HTMLElement>(`a[data-id="${CSS.escape(at)}"]`);
    row?.focus({ preventScroll: true });
    row?.scrollIntoView({ block: "center" });
  }, [isLoaded]);
}
