import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { SUBJECTS, type World } from "../e2e/world.ts";

/** Milliseconds from the start of a program to its end. @throws Error when it fails */
export function timeOf(program: string, args: string[], world?: World): number {
  const started = performance.now();
  const place = world ? { env: world.env, cwd: world.project } : {};
  const { status } = spawnSync(program, args, { stdio: "ignore", ...place });
  if (status !== 0) throw new Error(`Cannot time "${program}": it ended with ${status}`);
  return performance.now() - started;
}

/** Compiles an executable that does nothing, as the baseline for start times. */
export function buildEmpty(folder: string): string {
  const outfile = join(folder, "empty");
  const entry = join(folder, "empty.ts");
  writeFileSync(entry, "export {};\n");
  const bun = SUBJECTS.bun[0];
  const args = ["build", "--compile", "--bytecode", entry, "--outfile", outfile];
  const { status } = spawnSync(bun, args, { stdio: ["ignore", "ignore", "inherit"] });
  if (status !== 0) throw new Error("Cannot build an empty executable");
  return outfile;
}
