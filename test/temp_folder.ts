import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, onTestFinished, TestRunner } from "vitest";

/** A folder by its real path; it goes when the test ends, or the file where no test is running. */
export function createTempFolder(name: string): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), `gate-${name}-`)));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  if (TestRunner.getCurrentTest()) onTestFinished(remove);
  else afterAll(remove);
  return folder;
}
