/** `deno task bench`: how fast it is, side by side with what it is measured against, in one run. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { SUBJECTS } from "../e2e/world.ts";

const ROUNDS = 200;

main();

function main(): void {
  const folder = mkdtempSync(join(tmpdir(), "gate-bench-"));
  try {
    console.log(`${cpus().length} × ${cpus()[0]!.model}, ${process.platform} ${process.arch}\n`);
    compareStarts(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function compareStarts(folder: string): void {
  const empty = buildEmpty(folder);
  const gate = SUBJECTS.executable[0];
  const times: Record<string, number[]> = { empty: [], gate: [] };
  for (let round = 0; round < ROUNDS + 10; round++) {
    const pair = { empty: timeOf(empty, []), gate: timeOf(gate, ["--version"]) };
    if (round < 10) continue; // the files come off the disk in the first rounds
    times["empty"]!.push(pair.empty);
    times["gate"]!.push(pair.gate);
  }
  const ours = quantile(times["gate"]!, 0.5);
  const theirs = quantile(times["empty"]!, 0.5);
  report("an empty Bun executable", times["empty"]!);
  report("gate --version", times["gate"]!);
  console.log(`ratio of the medians ${(ours / theirs).toFixed(2)} (aim: at most 1.50)`);
}

// Process start included: that is what a person or a hook waits for.
function timeOf(program: string, args: string[]): number {
  const started = performance.now();
  const { status } = spawnSync(program, args, { stdio: "ignore" });
  if (status !== 0) throw new Error(`Cannot time "${program}": it ended with ${status}`);
  return performance.now() - started;
}

function buildEmpty(folder: string): string {
  const outfile = join(folder, "empty");
  const entry = join(folder, "empty.ts");
  writeFileSync(entry, "export {};\n");
  const bun = SUBJECTS.bun[0];
  const args = ["build", "--compile", "--bytecode", entry, "--outfile", outfile];
  const { status } = spawnSync(bun, args, { stdio: ["ignore", "ignore", "inherit"] });
  if (status !== 0) throw new Error("Cannot build an empty executable");
  return outfile;
}

function report(name: string, times: number[]): void {
  const [p50, p95] = [quantile(times, 0.5), quantile(times, 0.95)];
  console.log(`${name.padEnd(28)} p50 ${p50.toFixed(2)} ms  p95 ${p95.toFixed(2)} ms`);
}

function quantile(values: number[], q: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * q)]!;
}
