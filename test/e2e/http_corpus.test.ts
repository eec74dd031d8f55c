import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe } from "vitest";
import { CORPUS_POLICIES, type CorpusGate, describeCorpus } from "../http_corpus_suite.ts";
import { World } from "./world.ts";

// Uses the real time limits: the daemon waits 30 s for an unfinished body.
describe("the executable answers every request of the corpus", () => describeCorpus(open, 90_000));

async function open(): Promise<CorpusGate> {
  const world = await World.create("executable");
  const config = { approvals: { proof: "token" }, policies: CORPUS_POLICIES.global };
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

// Only Linux shows the memory of a process. The in-process suite checks it elsewhere.
function rssOf(pid: number): number {
  if (process.platform !== "linux") return 0;
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]) * 1024;
}
