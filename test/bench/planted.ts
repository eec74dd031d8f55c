import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { Signer } from "../../server/audit/signer.ts";
import { readToken } from "../../server/auth/tokens.ts";
import type { World } from "../e2e/world.ts";
import { ask, type Endpoint } from "./http.ts";
import { makeLargeLedger } from "./large_ledger.ts";

/** Projects by the number of their actions. */
const SIZES = {
  k1: 1_000,
  k100: 100_000,
  m1: Number(process.env["GATE_BENCH_ACTIONS"] ?? 1_000_000),
};
/** The projects, the smallest first. */
export const IDS = ["k1", "k100", "m1"] as const;
/** A folder that keeps the ledgers for the next run, because the large one takes minutes to make. */
const KEPT = process.env["GATE_BENCH_LEDGERS"];

/** Starts a daemon with a project for each size, whose last action is of that time. */
export async function plantAll(world: World, until: number): Promise<Endpoint> {
  for (const id of IDS) await plant(world, id, until);
  await world.run(["daemon", "start"]);
  const endpoint = { port: world.port, token: await readToken(world.gateHome, "reviewer") };
  for (const id of IDS) {
    await ask(endpoint, "/api/hub/projects", { root: join(world.folder, id) });
    const { code, stderr } = await world.run(["config", "accept"], { cwd: join(world.folder, id) });
    if (code !== 0) throw new Error(`Cannot accept the rules of ${id}: ${stderr}`);
  }
  return endpoint;
}

async function plant(world: World, id: keyof typeof SIZES, until: number): Promise<void> {
  const started = performance.now();
  const actions = SIZES[id];
  const kept = KEPT ?? join(world.gateHome, "projects");
  mkdirSync(kept, { recursive: true, mode: 0o700 });
  const folder = join(kept, id);
  const signer = Signer.open(kept);
  await makeLargeLedger({ project_id: id, folder, signer, actions, until });
  if (KEPT !== undefined) cpSync(folder, join(world.gateHome, "projects", id), { recursive: true });
  mkdirSync(join(world.gateHome, "keys"), { recursive: true, mode: 0o700 });
  cpSync(join(kept, "checkpoints.pem"), join(world.gateHome, "keys", "checkpoints.pem"));
  mkdirSync(join(world.folder, id));
  const policies = { defaultEffect: "ask", allowedPaths: ["written/**"], sandbox: { mode: "off" } };
  const config = { id, policies };
  writeFileSync(join(world.folder, id, "gate.config.json"), JSON.stringify(config));
  const seconds = (performance.now() - started) / 1_000;
  console.log(`  ${id}: ${actions} actions, two events each, made in ${seconds.toFixed(0)} s`);
}
