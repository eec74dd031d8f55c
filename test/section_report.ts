/** Vitest's reporter for test/run.ts: a count and the reasons of failure for each file, as JSON. */
import { writeFileSync } from "node:fs";
import process from "node:process";
import type { Reporter, SerializedError, TestCase, TestModule } from "vitest/node";

export interface FileReport {
  /** Its absolute path. */
  file: string;
  passed: number;
  /** One line for each test, set-up or worker that failed; empty where all is well. */
  failures: string[];
}

/** The `file` of a failure that no file can be blamed for. */
export const UNNAMED = "";

/** Where the reporter writes a `FileReport[]`. */
export const REPORT_VARIABLE = "GATE_TEST_REPORT";

export default class SectionReport implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const files = modules.map(fileReport);
    for (const error of unhandled) blame(files, error);
    writeFileSync(process.env[REPORT_VARIABLE]!, JSON.stringify(files));
  }
}

function fileReport(module: TestModule): FileReport {
  const tests = [...module.children.allTests()];
  const failures = tests.filter(isLost).map((test) =>
    line(test.fullName, test.result().errors?.[0])
  );
  // A set-up that fails leaves its tests skipped, which looks like intention.
  const suites = [module, ...module.children.allSuites()];
  failures.push(
    ...suites.flatMap((suite) => suite.errors().map((error) => line("set-up", error))),
  );
  const passed = tests.filter((test) => test.result().state === "passed").length;
  if (tests.length === 0 && failures.length === 0) failures.push("it holds no test");
  return { file: module.moduleId, passed, failures };
}

// A test still pending when everything has ended was taken along by the end of its worker.
function isLost(test: TestCase): boolean {
  return ["failed", "pending"].includes(test.result().state);
}

function blame(files: FileReport[], error: SerializedError): void {
  const path: unknown = error["VITEST_TEST_PATH"];
  const text = line("outside every test", error);
  const guilty = files.find(({ file }) => file === path);
  if (guilty) guilty.failures.push(text);
  else if (files.every(({ failures }) => failures.length === 0)) {
    files.push({ file: UNNAMED, passed: 0, failures: [text] });
  }
}

function line(what: string, error?: { message?: string }): string {
  return `${what}: ${error?.message?.split("\n")[0]?.slice(0, 300) ?? "its worker ended"}`;
}
