import { spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { World } from "../e2e/world.ts";
import { compare, quantile } from "./figures.ts";
import { ask, type Endpoint } from "./http.ts";
import { plantAll } from "./planted.ts";

const [SMALL, LARGE] = ["k1", "m1"] as const;
const MIB = 2 ** 20;

/** Measures the export of a large ledger, and what others notice of it. */
export async function bench(): Promise<void> {
  const world = await World.create("executable");
  try {
    const endpoint = await plantAll(world, Date.now());
    await measureExport(world, endpoint);
    await measureBundle(world);
  } finally {
    await world.close();
  }
}

async function measureExport(world: World, endpoint: Endpoint): Promise<void> {
  // Warms up, so that the waits below do not include the first use of the code.
  await ask(endpoint, `/api/policy/test?project=${LARGE}`, { command: "npm test" });
  await ask(endpoint, `/api/audit/export?format=csv&project=${SMALL}`);
  const memory = watchMemory(world);
  const waits: number[] = [];
  let isOver = false;
  const asking = (async () => {
    while (!isOver) {
      const { ms } = await ask(endpoint, `/api/policy/test?project=${LARGE}`, {
        command: "npm test",
      });
      waits.push(ms);
      await pause(10);
    }
  })();
  const got = await ask(endpoint, `/api/audit/export?format=csv&project=${LARGE}`);
  isOver = true;
  await asking;
  const rows = (got.lines - 1) / got.ms * 1_000;
  console.log(`  CSV: ${got.lines - 1} events, ${(got.bytes / 1e6).toFixed(0)} MB`);
  compare("first byte", got.first_ms, { most: 50, unit: "ms" });
  compare("a policy test meanwhile, p95", quantile(waits, 0.95), { most: 50, unit: "ms" });
  compare("a policy test meanwhile, worst", quantile(waits, 1), { most: 50, unit: "ms" });
  compare("more memory", memory.stop(), { most: 64, unit: "MiB" });
  await besideSqlite(world, rows);
}

async function besideSqlite(world: World, rows: number): Promise<void> {
  const file = join(world.gateHome, "projects", LARGE, "ledger.db");
  if (spawnSync("sqlite3", ["--version"]).error) {
    return console.log("  SKIPPED beside sqlite3 -csv: there is no sqlite3 on this machine");
  }
  const started = performance.now();
  const child = spawn("sqlite3", ["-readonly", "-csv", "-header", file, "SELECT * FROM audit"]);
  let lines = 0;
  for await (const chunk of child.stdout) {
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines++;
  }
  const theirs = lines / (performance.now() - started) * 1_000;
  const figures = `${rows.toFixed(0)} rows/s, sqlite3 -csv ${theirs.toFixed(0)} rows/s`;
  compare(`${figures}: times quicker`, theirs / rows, { most: 2, unit: "×" });
}

async function measureBundle(world: World): Promise<void> {
  const file = join(world.folder, "audit.html");
  const memory = watchMemory(world);
  const timed = async (name: string, args: string[]) => {
    const started = performance.now();
    const { code, stderr } = await world.run(args);
    if (code !== 0) throw new Error(`gate ${args.join(" ")}: ${stderr}`);
    console.log(`  ${name}: ${((performance.now() - started) / 1_000).toFixed(1)} s`);
  };
  await timed("bundle written", ["audit", "export", "--bundle", file, "--project", LARGE]);
  compare("more memory", memory.stop(), { most: 64, unit: "MiB" });
  await timed("bundle verified", ["audit", "verify", file]);
  await timed("ledger verified", ["audit", "verify", "--project", LARGE]);
}

/** Watches the daemon's memory; `stop` returns the peak growth in MiB. Linux only. */
function watchMemory(world: World): { stop: () => number } {
  const { pid } = JSON.parse(readFileSync(join(world.gateHome, "daemon.json"), "utf8"));
  const read = () => {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) * 1024;
  };
  if (process.platform !== "linux") {
    console.log("  SKIPPED memory: it is read from /proc");
    return { stop: () => 0 };
  }
  const before = read();
  let most = before;
  const timer = setInterval(() => most = Math.max(most, read()), 20);
  return {
    stop() {
      clearInterval(timer);
      return (most - before) / MIB;
    },
  };
}
