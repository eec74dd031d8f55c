import { visibleJson } from "../../terminal/visible.ts";
import type { ScenarioIo } from "../io.ts";
import type { Execution, Scenario } from "../schema.ts";
import type { RunResult } from "../summary.ts";
import { briefOf } from "./brief.ts";
import { createTextRenderer } from "./text.ts";
import { markdownOf } from "./markdown.ts";

/** What `--output` can print. */
export const FORMATS = ["json", "text", "markdown", "brief"] as const;
export type Format = typeof FORMATS[number];

/** Shows a run: each result as it comes, and the whole at the end. */
export interface Renderer {
  onResult: (execution: Execution, scenario: Scenario) => void;
  end: (result: RunResult) => void;
}

const TEXTS = {
  json: (result: RunResult) => visibleJson(result, 0),
  markdown: markdownOf,
  brief: briefOf,
};

/** Data goes to stdout, everything else to stderr. */
export function createRenderer(
  format: Format,
  io: ScenarioIo,
  target: string | null,
): Renderer {
  if (format === "text") return createTextRenderer(io, target);
  const textOf = TEXTS[format];
  return {
    onResult: () => {},
    end: (result) => {
      io.stdout.write(`${textOf(result)}\n`);
      if (result.summary.note) io.stderr.write(`${result.summary.note}\n`);
      const prose = result.executions.filter((one) => one.reason.includes("no exec"));
      if (prose.length > 0) {
        io.stderr.write(`${prose.length} scenarios without exec were skipped: no --driver\n`);
      }
    },
  };
}
