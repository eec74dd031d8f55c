import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { v7 } from "uuid";
import { readToken } from "../../server/auth/tokens.ts";
import type { Environment } from "../../server/environment.ts";
import { type Gate, startGate } from "../../server/start.ts";
import { compare, quantile, report } from "./figures.ts";

const PERSON = { id: "reviewer", scope: "reviewer" } as const;

const PROJECTS = 1_000;
const HOLDING = 200;
const ROUNDS = 100;
const CALLER = { scope: "agent", id: "bench", member_id: null, via: "token", proof: null } as const;
const PATHS = ["/api/global/approvals/pending", "/api/hub/projects", "/api/daemon/status"];

/** Times reads over a thousand registered projects, of which every fifth has a held action. */
export async function bench(): Promise<void> {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "gate-bench-")));
  const home = join(base, "home");
  mkdirSync(home, { mode: 0o700 });
  const environment: Environment = { home, now: Date.now, id: () => v7(), log: () => {} };
  let gate = await startGate({ environment, port: 0 });
  try {
    for (let at = 0; at < PROJECTS; at++) await addProject(gate, join(base, `p${at}`), at);
    await gate.close();
    const started = performance.now();
    gate = await startGate({ environment, port: 0 });
    compare("start with all of them", performance.now() - started, { most: 1000, unit: "ms" });
    for (const path of PATHS) {
      const times = await timeGets(gate, path, await readToken(home, "viewer"));
      report(path, times);
      compare("its 95th percentile", quantile(times, 0.95), { most: 100, unit: "ms" });
    }
  } finally {
    await gate.close();
    rmSync(base, { recursive: true, force: true });
  }
}

async function addProject({ daemon }: Gate, root: string, at: number): Promise<void> {
  mkdirSync(root);
  const id = `p${at}`;
  writeFileSync(
    join(root, "gate.config.json"),
    JSON.stringify({ id, policies: { defaultEffect: "ask" } }),
  );
  await daemon.projects.register(root, PERSON);
  if (at >= HOLDING) return;
  const { actions } = await daemon.projects.get(id);
  await actions.submit({ tool: "write_file", input: { path: "a.txt", content: "a" } }, CALLER);
}

async function timeGets({ port }: Gate, path: string, token: string): Promise<number[]> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS + 5; round++) {
    const started = performance.now();
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    await answer.arrayBuffer();
    if (!answer.ok) throw new Error(`${path} answers ${answer.status}`);
    if (round >= 5) times.push(performance.now() - started);
  }
  return times;
}
