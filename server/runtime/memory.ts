import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

type Collect = () => void;

let collect: Collect | null = null;

/**
 * Gives back the memory of what is no longer used. For whoever hands large pieces through: the
 * runtimes wait until far more than a hundred megabytes of them have piled up.
 */
export function releaseMemory(): void {
  collect ??= findCollector();
  collect();
}

function findCollector(): Collect {
  const { Bun } = globalThis as { Bun?: { gc(force: boolean): void } };
  if (Bun) return () => Bun.gc(true);
  try {
    setFlagsFromString("--expose-gc");
    const gc: unknown = runInNewContext("gc");
    if (typeof gc === "function") return () => gc();
  } catch {
    // A runtime that does not let us: it collects when it sees fit.
  }
  return () => {};
}
