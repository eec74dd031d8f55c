import type { RunResult } from "../summary.ts";

/** The same document as `run --output json`. */
export function render(result: RunResult): string {
  return `${JSON.stringify(result, null, 2)}\n`;
}
