import { type ReadonlySignal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { NEW_MS, onReturn } from "./guard.ts";

/**
 * Whether a dialog accepts no decision yet, because it has only just appeared or the person has only just
 * come back to its window. A key that was meant for something else must not answer it.
 */
export function useIsNew(): ReadonlySignal<boolean> {
  const isNew = useSignal(true);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>;
    const wait = () => {
      clearTimeout(timer);
      isNew.value = true;
      timer = setTimeout(() => isNew.value = false, NEW_MS);
    };
    wait();
    const stop = onReturn(wait);
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, []);
  return isNew;
}
