import { visibleJson } from "../../terminal/visible.ts";
import type { RunResult } from "../summary.ts";

/** The same document as `run --output json`. */
export function render(result: RunResult): string {
  return `${visibleJson(result, 2)}\n`;
}
