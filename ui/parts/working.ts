import { useSignal } from "@preact/signals";
import { announce } from "./toast.tsx";
import { explain } from "../state/client.ts";

/** Runs one change at a time and tells its outcome; a failed one leaves everything as it was. */
export function useWorking(onDone: () => void) {
  const busy = useSignal(false);
  const run = async <T>(work: () => Promise<T>, done: string | null): Promise<T | null> => {
    if (busy.peek()) return null;
    busy.value = true;
    try {
      const result = await work();
      if (done !== null) announce({ text: done, tone: "ok" }, null);
      onDone();
      return result;
    } catch (error) {
      announce({ text: explain(error), tone: "danger" }, null);
      return null;
    } finally {
      busy.value = false;
    }
  };
  return { busy, run };
}
