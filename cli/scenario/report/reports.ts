import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { ToolError } from "../errors.ts";
import type { ScenarioIo } from "../io.ts";
import type { RunResult } from "../summary.ts";

/** Formats of `--report`, each loaded when it is asked for. */
const FORMATS = {
  json: () => import("./json.ts"),
  markdown: () => import("./markdown_report.ts"),
  junit: () => import("./junit.ts"),
  sarif: () => import("./sarif.ts"),
  tap: () => import("./tap.ts"),
  ctrf: () => import("./ctrf.ts"),
};

/** The names of them, as a help shows them. */
export const REPORT_FORMATS = Object.keys(FORMATS);

/** One `--report`: `format=path`, or `github` for annotations and the step summary. */
export interface ReportRequest {
  format: keyof typeof FORMATS | "github";
  path: string | null;
}

/** Reads `junit=out/junit.xml`. @throws ToolError naming what is known */
export function parseReport(text: string): ReportRequest {
  if (text === "github") return { format: "github", path: null };
  const [format = "", path = ""] = text.split(/=(.*)/s);
  if (format in FORMATS && path !== "") return { format: format as keyof typeof FORMATS, path };
  const known = Object.keys(FORMATS).map((name) => `${name}=<file>`).join(", ");
  throw new ToolError(`Cannot write the report "${text}": use ${known} or github`);
}

/** What a format is told besides the result. */
export interface ReportContext {
  /** When the run began, in milliseconds since 1970. */
  started_at: number;
}

/** Writes every report that was asked for. @throws ToolError when one cannot be written */
export async function writeReports(
  requests: ReportRequest[],
  result: RunResult,
  io: ScenarioIo,
  context: ReportContext,
): Promise<void> {
  for (const { format, path } of requests) {
    if (format === "github") {
      const { annotationsOf, stepSummaryOf } = await import("./github.ts");
      io.stderr.write(annotationsOf(result));
      const summary = io.env.GITHUB_STEP_SUMMARY;
      if (summary) writeTo(summary, () => appendFileSync(summary, stepSummaryOf(result)));
      continue;
    }
    const { render } = await FORMATS[format]();
    write(resolve(io.cwd, path!), render(result, context));
  }
}

function write(path: string, text: string): void {
  writeTo(path, () => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  });
}

function writeTo(path: string, doing: () => void): void {
  try {
    doing();
  } catch (cause) {
    throw new ToolError(`Cannot write the report "${path}": ${(cause as Error).message}`, {
      cause,
    });
  }
}
