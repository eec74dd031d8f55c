import { useEffect } from "preact/hooks";
import type { StreamEvent } from "../server/events/schema.ts";
import { onEvent } from "./state.ts";

const REFRESH_MS = 250;

/**
 * Calls `read` now, whenever `key` changes, and again after each event that `wants` it. A read that
 * comes back late is told so by its signal.
 */
export function useLive(
  key: string,
  read: (late: AbortSignal) => Promise<void>,
  wants: (event: StreamEvent) => boolean,
): void {
  useEffect(() => {
    const ended = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    void read(ended.signal);
    const stop = onEvent((event) => {
      if (event && !wants(event)) return;
      clearTimeout(timer);
      timer = setTimeout(() => void read(ended.signal), REFRESH_MS);
    });
    return () => {
      ended.abort();
      clearTimeout(timer);
      stop();
    };
  }, [key]);
}
