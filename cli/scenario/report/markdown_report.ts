import type { RunResult } from "../summary.ts";
import { markdownOf } from "./markdown.ts";

/** The same text as `run --output markdown`. */
export function render(result: RunResult): string {
  return `${markdownOf(result)}\n`;
}
