import { spawn, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { Signer } from "../../server/audit/signer.ts";
import { readToken } from "../../server/auth/tokens.ts";
import { World } from "../e2e/world.ts";
import { compare, quantile } from "./figures.ts";
import { ask, type Endpoint } from "./http.ts";
import { makeLargeLedger } from "./large_ledger.ts";

const SIZES = { small: 1_000, large: Number(process.env["GATE_BENCH_ACTIONS"] ?? 1_000_000) };
/** A folder that keeps the ledgers for the next run, because the large one takes minutes to make. */
const KEPT = process.env["GATE_BENCH_LEDGERS"];
const ROUNDS = 40;
const MOST_GROWTH = 1.5;
const MIB = 2 ** 20;

/** Compares reads of a large and a small ledger, and measures the export of the large one. */
export async function bench(): Promise<void> {
  const world = await World.create("executable");
  try {
    const until = Date.now();
    for (const [id, actions] of Object.entries(SIZES)) await plant(world, id, actions, until);
    await world.run(["daemon", "start"]);
    const endpoint = { port: world.port, token: await readToken(world.gateHome, "reviewer") };
    for (const id of Object.keys(SIZES)) {
      await ask(endpoint, "/api/hub/projects", { root: join(world.folder, id) });
    }
    await compareReads(endpoint, until);
    await measureExport(world, endpoint);
    await measureBundle(world);
  } finally {
    await world.close();
  }
}

async function plant(world: World, id: string, actions: number, until: number): Promise<void> {
  const started = performance.now();
  const kept = KEPT ?? join(world.gateHome, "projects");
  mkdirSync(kept, { recursive: true, mode: 0o700 });
  const folder = join(kept, id);
  const signer = Signer.open(kept);
  await makeLargeLedger({ project_id: id, folder, signer, actions, until });
  if (KEPT !== undefined) cpSync(folder, join(world.gateHome, "projects", id), { recursive: true });
  mkdirSync(join(world.gateHome, "keys"), { recursive: true, mode: 0o700 });
  cpSync(join(kept, "checkpoints.pem"), join(world.gateHome, "keys", "checkpoints.pem"));
  mkdirSync(join(world.folder, id));
  const config = { id, policies: { defaultEffect: "ask" } };
  writeFileSync(join(world.folder, id, "gate.config.json"), JSON.stringify(config));
  const seconds = (performance.now() - started) / 1_000;
  console.log(`  ${id}: ${actions} actions, two events each, made in ${seconds.toFixed(0)} s`);
}

/** Reads that return a full page from both ledgers, or nothing from both. */
function readsOf(until: number): Record<string, string> {
  const time = (days: number) => new Date(until - days * 86_400_000).toISOString();
  return {
    "list": "actions",
    "status": "actions?status=approved",
    "tool": "actions?tool=run_command",
    "agent": "actions?agent=codex",
    "execution": "actions?execution=succeeded",
    "risk": "actions?risk=low",
    "session": "actions?session_id=session-3",
    "path of none": "actions?path=nowhere",
    "from": `actions?from=${time(30)}`,
    "to": `actions?to=${time(30)}`,
    "from, to, tool": `actions?from=${time(60)}&to=${time(20)}&tool=run_command`,
    "agent, status": "actions?agent=codex&status=approved",
    "word": "actions?q=src&limit=25",
    "word of none": "actions?q=nowhere",
    "two words": "actions?q=default%20allowed&limit=25",
    "two words, one of none": "actions?q=src%20nowhere",
    "two frequent words that never meet": "actions?q=server%20ui",
    "word, agent": "actions?q=allowed&agent=codex&limit=25",
    "words, tool": "actions?q=allowed%20default&tool=write_file&limit=25",
    "count of pending": "actions?count=true",
    "sessions": "sessions?limit=10",
    "summary of 30 days": "analytics/summary?window=30d",
    "hits of each rule": "policy/hits",
  };
}

/** Alternates between the ledgers, so that other load affects both equally. */
async function compareReads(endpoint: Endpoint, until: number): Promise<void> {
  for (const [name, path] of Object.entries(readsOf(until))) {
    const times: Record<string, number[]> = { small: [], large: [] };
    const at = (id: string) => `/api/${path}${path.includes("?") ? "&" : "?"}project=${id}`;
    for (let round = 0; round < ROUNDS + 3; round++) {
      for (const id of Object.keys(SIZES)) {
        const { ms } = await ask(endpoint, at(id));
        if (round >= 3) times[id]!.push(ms);
      }
    }
    const [small, large] = [quantile(times["small"]!, 0.5), quantile(times["large"]!, 0.5)];
    const label = `${name}: ${small.toFixed(2)} → ${large.toFixed(2)} ms`;
    compare(label, large / small, { most: MOST_GROWTH, unit: "×" });
  }
}

async function measureExport(world: World, endpoint: Endpoint): Promise<void> {
  // Warms up, so that the waits below do not include the first use of the code.
  await ask(endpoint, "/api/policy/test?project=large", { command: "npm test" });
  await ask(endpoint, "/api/audit/export?format=csv&project=small");
  const memory = watchMemory(world);
  const waits: number[] = [];
  let isOver = false;
  const asking = (async () => {
    while (!isOver) {
      const { ms } = await ask(endpoint, "/api/policy/test?project=large", { command: "npm test" });
      waits.push(ms);
      await pause(10);
    }
  })();
  const got = await ask(endpoint, "/api/audit/export?format=csv&project=large");
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
  const file = join(world.gateHome, "projects", "large", "ledger.db");
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
  await timed("bundle written", ["audit", "export", "--bundle", file, "--project", "large"]);
  compare("more memory", memory.stop(), { most: 64, unit: "MiB" });
  await timed("bundle verified", ["audit", "verify", file]);
  await timed("ledger verified", ["audit", "verify", "--project", "large"]);
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
