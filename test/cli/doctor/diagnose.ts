import { chmodSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { expect } from "vitest";
import { DoctorReport } from "../../../cli/doctor/schema.ts";
import type { TestTerminal } from "../terminal.ts";

/** What `gate doctor` finds; `ill` is what is not as it should be. */
export async function diagnose(terminal: TestTerminal, ...args: string[]) {
  const { code, stdout, stderr } = await terminal.run(["doctor", "--json", ...args]);
  const report = DoctorReport.parse(JSON.parse(stdout));
  expect(code).toBe(report.ok ? 0 : 1);
  const ill = report.findings.filter(({ level }) => level !== "ok");
  return { ...report, ill, stderr };
}

/** Remembers files and folders as they are; the answer makes them so again. */
export function keep(paths: string[]): () => void {
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
