import { Buffer } from "node:buffer";

/**
 * How often a function runs before the engine compiles it, and compiles it anew with optimization:
 * `thresholdForJITAfterWarmUp`, `…JITSoon`, `…OptimizeAfterWarmUp` and `…OptimizeAfterLongWarmUp`.
 * @see https://github.com/WebKit/WebKit/blob/main/Source/JavaScriptCore/runtime/OptionsList.h
 */
const THEIRS = int32s(500, 100, 1_000, 1_000);

/**
 * An agent writes a few hundred files at most, and the daemon would handle most of them with
 * code that is not optimized yet. Lower values than these compile too much of what runs once.
 */
const OURS = int32s(200, 50, 60, 60);

/**
 * Returns a copy of Bun that optimizes code sooner. Bun takes these four numbers from its
 * environment too, but gate lets it read none of that. @throws Error when Bun has no such numbers,
 * or has them twice
 */
export function withEarlyOptimization(bun: Uint8Array): Uint8Array {
  const changed = Buffer.from(bun);
  const at = changed.indexOf(THEIRS);
  if (at === -1 || changed.indexOf(THEIRS, at + 1) !== -1) {
    throw new Error("Cannot change when Bun optimizes code: Bun has changed; read its sources");
  }
  OURS.copy(changed, at);
  return changed;
}

function int32s(...values: number[]): Buffer {
  return Buffer.from(Int32Array.from(values).buffer);
}
