import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { SUBJECTS } from "../e2e/world.ts";

/** Milliseconds that a program takes, its start included: that is what a person or a hook waits for. */
export function timeOf(program: string, args: string[]): number {
  const started = performance.now();
  const { status } = spawnSync(program, args, { stdio: "ignore" });
  if (status !== 0) throw new Error(`Cannot time "${program}": it ended with ${status}`);
  return performance.now() - started;
}

/** An executable that does nothing: what any other must be measured against. */
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
