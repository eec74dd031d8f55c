import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Subject, World } from "../e2e/world.ts";
import { type BenchSessions, type LineKind, openSessions } from "./agent_sessions.ts";
import { compare, quantile, report } from "./figures.ts";
import type { Block } from "./loop_blocks.ts";
import { cpuOf, memoryOf } from "./process_figures.ts";

const ROUNDS = 30;
const ROUND_MS = 2_000;
/** Rounds of which each adds a line of 500 KiB to every record. */
const LONG_ROUNDS = 10;
/** A client that asked within 30 s still counts as a reader. */
const UNWATCHED_MS = 35_000;
const IDLE_MS = 65_000;
/** The work of a daemon at its start has ended by then. */
const STARTED_MS = 10_000;

const PRELOAD = fileURLToPath(new URL("loop_blocks.ts", import.meta.url));

/** Measures the agent monitor with 50 live sessions of 100 MB each, that all grow. */
export async function bench(): Promise<void> {
  if (process.platform !== "linux") return console.log("  SKIPPED: it is read from /proc");
  await measureCost();
  await measureBlocks();
}

/** Measures time, memory and processor time of the executable. */
async function measureCost(): Promise<void> {
  const { world, sessions, close } = await open("executable");
  try {
    const pid = await world.daemonPid();
    const memory = memoryOf(pid);
    const begun = performance.now();
    await look(world, sessions);
    compare("first snapshot", performance.now() - begun, { most: 1_000, unit: "ms" });
    const cpu = cpuOf(pid);
    await runRounds(world, sessions, ROUNDS);
    compare("processor, one round", (cpuOf(pid) - cpu) / ROUNDS, { most: 50, unit: "ms" });
    const waits = await waitsOf(world, () => look(world, sessions));
    report("another request meanwhile", waits);
    const quiet = await waitsOf(world, () => Promise.resolve());
    report("the same with no round asked for", quiet);
    // Other work on the machine delays both alike.
    const held = quantile(waits, 0.99) - quantile(quiet, 0.99);
    compare("added to 99 of 100 requests", Math.max(0, held), { most: 20, unit: "ms" });
    compare("memory grown", memoryOf(pid) - memory, { most: 64, unit: "MiB" });
    await pause(UNWATCHED_MS);
    const before = cpuOf(pid);
    await pause(IDLE_MS);
    const share = (cpuOf(pid) - before) / IDLE_MS * 100;
    compare("processor while nobody looks", share, { most: 0.5, unit: "%" });
  } finally {
    await close();
  }
}

/** Measures the event loop of a daemon on the runtime of the executable, from inside. */
async function measureBlocks(): Promise<void> {
  const { world, sessions, close } = await open("bun");
  const blocksOf = async (work: () => Promise<unknown>) => {
    const from = Date.now();
    await work();
    return blocksIn(world).filter(({ at }) => at >= from);
  };
  const tell = (name: string, blocks: Block[]) => {
    const [blocked, ran] = (["blocked", "ran"] as const).map((key) =>
      Math.max(0, ...blocks.map((one) => one[key]))
    ) as [number, number];
    compare(`longest block, ${name}`, blocked, { most: 20, unit: "ms" });
    // A stretch may wait for threads of the runtime, which other work on the machine delays.
    compare("  of it on the processor", ran, { most: 20, unit: "ms" });
  };
  try {
    tell("no rounds", await blocksOf(() => pause(ROUNDS * ROUND_MS / 2)));
    tell("first snapshot", await blocksOf(() => look(world, sessions)));
    tell("rounds", await blocksOf(() => runRounds(world, sessions, ROUNDS)));
    for (const kind of ["long", "dense"] as const) {
      tell(`${kind} lines`, await blocksOf(() => runRounds(world, sessions, LONG_ROUNDS, kind)));
    }
  } finally {
    await close();
  }
}

/** Starts a daemon and the sessions. */
async function open(subject: Subject) {
  const world = await World.create(subject);
  world.env.GATE_LOOP_BLOCKS = blocksFile(world);
  if (subject === "bun") world.env.BUN_OPTIONS = `--preload=${PRELOAD}`;
  await world.init({ defaultEffect: "allow" });
  const sessions = openSessions(world);
  await pause(STARTED_MS);
  const close = async () => {
    sessions.close();
    await world.close();
  };
  return { world, sessions, close };
}

async function look(world: World, { count }: BenchSessions): Promise<void> {
  const { body } = await world.api("GET", "/api/agent-monitor/sessions");
  const { length } = body.items.filter(({ session_id }: { session_id: string }) =>
    !session_id.startsWith("process-")
  );
  if (length !== count) throw new Error(`${length} of ${count} sessions were found`);
}

async function runRounds(
  world: World,
  sessions: BenchSessions,
  count: number,
  kind: LineKind = "usual",
): Promise<void> {
  for (let at = 0; at < count; at++) {
    sessions.grow(at, kind);
    await look(world, sessions);
    await pause(ROUND_MS);
  }
}

/** How long other requests wait, over ten rounds. */
async function waitsOf(world: World, work: () => Promise<unknown>): Promise<number[]> {
  const waits: number[] = [];
  for (let round = 0; round < 10; round++) {
    const until = performance.now() + ROUND_MS;
    const working = work();
    while (performance.now() < until) {
      const begun = performance.now();
      await world.api("GET", "/healthz");
      waits.push(performance.now() - begun);
      await pause(5);
    }
    await working;
  }
  return waits;
}

function blocksFile(world: World): string {
  return join(world.folder, "blocks.jsonl");
}

function blocksIn(world: World): Block[] {
  const lines = readFileSync(blocksFile(world), "utf8").split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line));
}
