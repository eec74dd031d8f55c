import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe } from "vitest";
import { CORPUS_POLICIES, type CorpusGate, describeCorpus } from "../http_corpus_suite.ts";
import { World } from "./world.ts";

// With the real time limits: a client that never ends its body is waited for half a minute.
describe("every request of the corpus, on the executable", () => describeCorpus(open, 90_000));

async function open(): Promise<CorpusGate> {
  const world = await World.create("executable");
  mkdirSync(world.gateHome, { mode: 0o700 });
  const config = { policies: CORPUS_POLICIES.global };
  writeFileSync(join(world.gateHome, "config.json"), JSON.stringify(config));
  await world.init(CORPUS_POLICIES.project);
  const daemon_pid = await world.daemonPid();
  return {
    port: world.port,
    tokens: { agent: await world.token("agent"), reviewer: await world.token("reviewer") },
    daemon_pid,
    parent_pid: process.pid,
    rss: () => rssOf(daemon_pid),
    close: () => world.close(),
  };
}

// Known on Linux only; elsewhere the memory is judged by the suite that runs in this process.
function rssOf(pid: number): number {
  if (process.platform !== "linux") return 0;
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]) * 1024;
}
