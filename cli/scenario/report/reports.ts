import { accessSync, appendFileSync, constants, mkdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Io } from "../../io.ts";
import { visibleJson } from "../../terminal/visible.ts";
import { attempt, GIVE_A_PLACE, ToolError } from "../errors.ts";
import type { RunResult } from "../summary.ts";
import { ctrfOf } from "./ctrf.ts";
import { annotationsOf, stepSummaryOf } from "./github.ts";
import { junitOf } from "./junit.ts";
import { markdownOf } from "./markdown.ts";
import { sarifOf } from "./sarif.ts";
import { tapOf } from "./tap.ts";

/** The content of a report besides the result. */
export interface ReportContext {
  /** When the run began, in milliseconds since 1970. */
  started_at: number;
}

const FORMATS = {
  json: (result: RunResult) => `${visibleJson(result, 2)}\n`,
  markdown: (result: RunResult) => `${markdownOf(result)}\n`,
  junit: junitOf,
  sarif: sarifOf,
  tap: tapOf,
  ctrf: ctrfOf,
};

/** The formats of `--report` that go to a file. */
export const REPORT_FORMATS = Object.keys(FORMATS);

/** One `--report`: `format=path`, or `github` for annotations and the step summary. */
export interface ReportRequest {
  format: keyof typeof FORMATS | "github";
  path: string | null;
}

/** Reads `junit=out/junit.xml`. @throws ToolError that names the formats */
export function parseReport(text: string): ReportRequest {
  if (text === "github") return { format: "github", path: null };
  const [format = "", path = ""] = text.split(/=(.*)/s);
  if (format in FORMATS && path !== "") return { format: format as keyof typeof FORMATS, path };
  const known = Object.keys(FORMATS).map((name) => `${name}=<file>`).join(", ");
  throw new ToolError(`Cannot write the report "${text}": there is no such format, or no file`, {
    next: `--report ${known} or github`,
  });
}

/** Creates the folders of all reports. @throws ToolError when one could not be written after the run */
export function checkReports(requests: ReportRequest[], { cwd }: Pick<Io, "cwd">): void {
  for (const { path: given } of requests) {
    if (given === null) continue;
    const path = resolve(cwd, given);
    attempt(`write the report "${path}"`, GIVE_A_PLACE, () => {
      mkdirSync(dirname(path), { recursive: true });
      const there = statSync(path, { throwIfNoEntry: false });
      if (there?.isDirectory()) throw new Error("it is a folder");
      accessSync(there ? path : dirname(path), constants.W_OK);
    });
  }
}

/** Writes every report. @throws ToolError when one cannot be written */
export function writeReports(
  requests: ReportRequest[],
  result: RunResult,
  io: Io,
  context: ReportContext,
): void {
  for (const { format, path: given } of requests) {
    if (format === "github") {
      io.stderr.write(annotationsOf(result));
      const path = io.env.GITHUB_STEP_SUMMARY;
      const append = () => appendFileSync(path!, stepSummaryOf(result));
      if (path) attempt(`write the report "${path}"`, GIVE_A_PLACE, append);
      continue;
    }
    const path = resolve(io.cwd, given!);
    attempt(`write the report "${path}"`, GIVE_A_PLACE, () => {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, FORMATS[format](result, context));
    });
  }
}
