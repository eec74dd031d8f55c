import { type ReadonlySignal, useSignal } from "@preact/signals";
import type { StreamEvent } from "../../server/events/schema.ts";
import { explain } from "./client.ts";
import { useLive } from "./live.ts";

/** The state of a page's reads: the newest value, why the last read failed, and how to read again. */
export interface Read<T> {
  value: T | null;
  problem: string | null;
  reread: () => void;
}

/**
 * Reads when `key` changes, after each event that `wants` accepts, and on demand. The value before
 * stays until the next one is there.
 */
export function useRead<T>(
  key: string,
  read: () => Promise<T>,
  wants: (event: StreamEvent) => boolean,
): Read<T> {
  const value = useSignal<T | null>(null);
  const problem = useSignal<string | null>(null);
  const turn = useSignal(0);
  useLive(`${turn.value} ${key}`, async (late) => {
    try {
      const next = await read();
      if (late.aborted) return;
      value.value = next;
      problem.value = null;
    } catch (error) {
      if (!late.aborted) problem.value = explain(error);
    }
  }, wants);
  return { value: value.value, problem: problem.value, reread: () => turn.value += 1 };
}

/** Runs one piece of work at a time. */
export function useBusy(): {
  busy: ReadonlySignal<boolean>;
  run: (work: () => Promise<void>) => Promise<void>;
} {
  const busy = useSignal(false);
  const run = async (work: () => Promise<void>) => {
    if (busy.peek()) return;
    busy.value = true;
    try {
      await work();
    } finally {
      busy.value = false;
    }
  };
  return { busy, run };
}
