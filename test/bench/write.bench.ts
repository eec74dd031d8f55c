import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { type Client, connectClient, StdioClientTransport } from "../server/mcp/sdk_client.ts";
import { World } from "../e2e/world.ts";
import { compare, least, quantile, report } from "./figures.ts";
import { framesIn, noise } from "./writes.ts";
import { cpuOf } from "./process_figures.ts";
import { DISK_THREADS } from "../../cli/daemon/disk_threads.ts";

const WRITES = 150;
const WARM_UP = 30;
const AGENTS = 8;
/** The pages behind the answers are written in this time. */
const PROJECTED_MS = 3_000;
/** The time that a disk with a cache of its own needs for a sync. */
const SLOW_SYNC_MS = 10;

/**
 * Counts the pages and the syncs of an allowed 4 KiB write over MCP, which do not depend on the load,
 * and times one agent and eight at once. The processor time of a write tells how many the processors
 * of the machine could do at most.
 */
export async function bench(): Promise<void> {
  const world = await World.create("executable");
  try {
    await world.init({ defaultEffect: "allow" });
    const connected = await Promise.all(Array.from({ length: AGENTS }, () => connect(world)));
    const agents = connected.map(({ agent }) => agent);
    const [first] = agents;
    await writeAll(first!, 0, WARM_UP);
    await pause(PROJECTED_MS);
    const log = logOf(world);
    const before = framesIn(log);
    const daemon = await daemonPid(world);
    const syncs = countSyncs(daemon);
    await pause(syncs ? 1_000 : 0);
    await writeAll(first!, 0, WRITES);
    await pause(PROJECTED_MS);
    const pages = (framesIn(log) - before) / WRITES;
    const counted = await syncs?.();
    compare("pages of the log for a write", pages, { most: 20, unit: "pages" });
    if (counted === undefined) console.log("  syncs: not counted, strace is not installed");
    else compare("syncs of the daemon for a write", counted / WRITES, { most: 3.2, unit: "syncs" });
    // Timed apart, because strace slows the daemon.
    const alone = await timed(() => writeAll(first!, 0, WRITES));
    report("one agent", alone.times);
    const used = watchProcessors({ daemon, servers: connected.map(({ pid }) => pid) });
    const together = await timed(() => writeTogether(agents));
    report("eight agents at once", together.times);
    least("eight agents against one", together.rate / alone.rate, { least: 4, unit: "x" });
    used(together.times.length);
    await compareOnSlowDisk(world, agents);
    await Promise.all(agents.map((agent) => agent.close()));
  } finally {
    await world.close();
  }
}

/**
 * With so slow syncs the agents wait for the disk, not for the processors. A new daemon is traced from
 * its start, so that only its syncs are slower.
 */
async function compareOnSlowDisk(world: World, agents: Client[]): Promise<void> {
  if (!hasStrace()) return console.log("  slow syncs: not measured, strace is not installed");
  await world.run(["daemon", "stop"]);
  const inject = `inject=fsync,fdatasync:delay_enter=${SLOW_SYNC_MS * 1_000}`;
  // Without `trace` the daemon would stop at each of its calls, and wait for the processors.
  const traced = ["-e", "trace=fsync,fdatasync", "-e", inject];
  const tracing = ["-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", ...traced];
  const daemon = spawn("strace", [
    ...tracing,
    ...world.command(["daemon", "start", "--foreground"]),
  ], {
    cwd: world.project,
    // A daemon in the background has as many.
    env: { ...world.env, ...DISK_THREADS },
    stdio: "ignore",
  });
  const ended = new Promise((resolve) => daemon.on("close", resolve));
  while ((await world.run(["daemon", "status"])).code !== 0) await pause(50);
  console.log(`  with ${SLOW_SYNC_MS} ms more for each sync`);
  await writeTogether(agents);
  const alone = await timed(() => writeAll(agents[0]!, 0, WRITES / 3));
  const together = await timed(() => writeTogether(agents));
  const name = `eight against one, syncs of ${SLOW_SYNC_MS} ms`;
  least(name, together.rate / alone.rate, { least: 4, unit: "x" });
  await world.run(["daemon", "stop"]);
  await ended;
}

async function timed(work: () => Promise<number[]>): Promise<{ times: number[]; rate: number }> {
  const started = performance.now();
  const times = await work();
  const rate = 1_000 * times.length / (performance.now() - started);
  console.log(
    `  ${"writes a second".padEnd(32)} ${rate.toFixed(0)} (p90 ${
      quantile(times, 0.9).toFixed(2)
    } ms)`,
  );
  return { times, rate };
}

/** Prints the processor time of each side for a write, and what the processors could do at most. */
function watchProcessors({ daemon, servers }: { daemon: number; servers: number[] }) {
  const sides: [name: string, pids: number[]][] = [
    ["processor: the daemon, a write", [daemon]],
    ["processor: gate mcp, a write", servers],
    ["processor: the agent, a write", [process.pid]],
  ];
  const usedBy = (pids: number[]) => pids.reduce((sum, pid) => sum + cpuOf(pid), 0);
  const before = sides.map(([, pids]) => usedBy(pids));
  return (writes: number) => {
    let all = 0;
    for (const [at, [name, pids]] of sides.entries()) {
      const ms = (usedBy(pids) - before[at]!) / writes;
      all += ms;
      console.log(`  ${name.padEnd(32)} ${ms.toFixed(2)} ms`);
    }
    const most = `${(1_000 * cpus().length / all).toFixed(0)} writes a second`;
    console.log(`  ${"with all processors full".padEnd(32)} ${most}`);
  };
}

async function connect(world: World) {
  const [command, ...args] = world.command(["mcp"]);
  const { project: cwd, env } = world;
  const options = { command: command!, args, cwd, env, stderr: "ignore" } as const;
  const transport = new StdioClientTransport(options);
  const agent = await connectClient(transport);
  return { agent, pid: transport.pid! };
}

async function writeTogether(agents: Client[]): Promise<number[]> {
  const all = agents.map((agent, number) => writeAll(agent, number, WRITES / 3));
  return (await Promise.all(all)).flat();
}

async function writeAll(
  agent: Client,
  number: number,
  writes: number,
): Promise<number[]> {
  const times: number[] = [];
  for (let at = 0; at < writes; at++) {
    const started = performance.now();
    const content = `${started}\n${noise(4_000)}`;
    const args = { path: `${number}/${at % 20}.txt`, content };
    const answer = await agent.callTool({ name: "write_file", arguments: args });
    if (answer.isError) throw new Error(`Cannot write: ${JSON.stringify(answer)}`);
    times.push(performance.now() - started);
  }
  return times;
}

function logOf(world: World): string {
  const projects = join(world.gateHome, "projects");
  const [id] = readdirSync(projects).filter((name) => name !== "machine");
  return join(projects, id!, "ledger.db-wal");
}

async function daemonPid(world: World): Promise<number> {
  const { stdout } = await world.run(["daemon", "status", "--json"]);
  return Number((JSON.parse(stdout) as { pid: number }).pid);
}

/** Counts what the process syncs until the result is called; null without strace. */
function countSyncs(pid: number): (() => Promise<number>) | null {
  if (!hasStrace()) return null;
  const args = ["-f", "-qq", "-e", "trace=fsync,fdatasync", "-p", String(pid)];
  const tracer: ChildProcess = spawn("strace", args, { stdio: ["ignore", "ignore", "pipe"] });
  let text = "";
  tracer.stderr!.on("data", (data) => void (text += data));
  return async () => {
    const ended = new Promise((resolve) => tracer.on("close", resolve));
    tracer.kill("SIGINT");
    await ended;
    return text.match(/f(?:data)?sync\(\d+/g)?.length ?? 0;
  };
}

function hasStrace(): boolean {
  return spawnSync("strace", ["-V"]).status === 0;
}
