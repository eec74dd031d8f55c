import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { connectClient, StdioClientTransport } from "../server/mcp/sdk_client.ts";
import { World } from "../e2e/world.ts";
import { compare } from "./figures.ts";
import { cpuOf, memoryOf } from "./process_figures.ts";

const WRITES = 300;
const SETTLE_MS = 30_000;
const WATCH_MS = 20_000;

/** Measures memory and processor time of an idle daemon: fresh, and after some work. */
export async function bench(): Promise<void> {
  if (process.platform !== "linux") return console.log("  SKIPPED: it is read from /proc");
  const world = await World.create("executable");
  try {
    await world.init({ defaultEffect: "allow" });
    const pid = await world.daemonPid();
    await pause(SETTLE_MS);
    compare("memory, freshly started", memoryOf(pid), { most: 90, unit: "MiB" });
    await write(world);
    console.log(`  after ${WRITES} writes                 ${memoryOf(pid).toFixed(1)} MiB`);
    await pause(SETTLE_MS);
    compare("and once they are over", memoryOf(pid), { most: 90, unit: "MiB" });
    const before = cpuOf(pid);
    await pause(WATCH_MS);
    const share = (cpuOf(pid) - before) / WATCH_MS * 100;
    compare("processor while idle", share, { most: 0.5, unit: "%" });
  } finally {
    await world.close();
  }
}

async function write(world: World): Promise<void> {
  const [command, ...args] = world.command(["mcp"]);
  const client = await connectClient(
    new StdioClientTransport({
      command: command!,
      args,
      cwd: world.project,
      env: world.env,
      stderr: "ignore",
    }),
  );
  for (let at = 0; at < WRITES; at++) {
    const input = { path: `src/${at % 10}.txt`, content: `${at}\n`.repeat(800) };
    const answer = await client.callTool({ name: "write_file", arguments: input });
    if (answer.isError) throw new Error(`Cannot write: ${JSON.stringify(answer)}`);
  }
  await client.close();
}
