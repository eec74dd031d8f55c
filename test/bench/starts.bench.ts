import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { must, SUBJECTS, World } from "../e2e/world.ts";
import { compare, quantile, report } from "./figures.ts";
import { buildEmpty, timeOf } from "./programs.ts";

const ROUNDS = 200;
const KILLS = 100;

/** Times the start of the executable and of the daemon. */
export async function bench(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "gate-bench-"));
  try {
    compareStarts(folder);
    await startAfterKills();
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
    if (round < 10) continue; // the first rounds read the files from disk
    times["empty"]!.push(pair.empty);
    times["gate"]!.push(pair.gate);
  }
  const ours = quantile(times["gate"]!, 0.5);
  const theirs = quantile(times["empty"]!, 0.5);
  report("an empty Bun executable", times["empty"]!);
  report("gate --version", times["gate"]!);
  compare("ratio of the medians", ours / theirs, { most: 1.5, unit: "x" });
}

/** Times `gate daemon start` after the daemon was killed with SIGKILL. */
async function startAfterKills(): Promise<void> {
  const world = await World.create("executable");
  const times: number[] = [];
  try {
    await world.init();
    for (let kill = 0; kill < KILLS; kill++) {
      await world.kill(await world.daemonPid());
      const started = performance.now();
      must(await world.run(["daemon", "start"]));
      times.push(performance.now() - started);
    }
  } finally {
    await world.close();
  }
  report(`up again after kill -9, ${KILLS} times`, times);
  compare("the slowest of them", Math.max(...times), { most: 1000, unit: "ms" });
}
