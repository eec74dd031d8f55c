import { chmodSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { expect } from "vitest";
import { DoctorReport } from "../../../server/doctor/schema.ts";
import type { TestTerminal } from "../terminal.ts";

/** The findings of `gate doctor`; `problems` holds those that are not ok. */
export async function diagnose(terminal: TestTerminal, ...args: string[]) {
  const { code, stdout, stderr } = await terminal.run(["doctor", "--json", ...args]);
  const report = DoctorReport.parse(JSON.parse(stdout));
  expect(code).toBe(report.ok ? 0 : 1);
  const problems = report.findings.filter(({ level }) => level !== "ok");
  return { ...report, problems, stderr };
}

/** Saves files and folders. Returns a function that restores them. */
export function save(paths: string[]): () => void {
  const known = paths.map((path) => {
    const stats = statSync(path, { throwIfNoEntry: false });
    return { path, mode: stats?.mode, text: stats?.isFile() ? readFileSync(path) : null };
  });
  return () => {
    for (const { path, mode, text } of known) {
      if (mode === undefined) rmSync(path, { force: true });
      if (text !== null) writeFileSync(path, text);
      if (mode !== undefined) chmodSync(path, mode & 0o777);
    }
  };
}
