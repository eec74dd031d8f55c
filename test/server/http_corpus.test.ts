import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe } from "vitest";
import { openTokens } from "../../server/auth/tokens.ts";
import { startGate } from "../../server/start.ts";
import { CORPUS_POLICIES, type CorpusGate, describeCorpus } from "../http_corpus_suite.ts";

const PERSON = { id: "reviewer", scope: "reviewer" } as const;

describe("every request of the corpus", () => describeCorpus(open, 30_000));

async function open(): Promise<CorpusGate> {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "gate-")));
  const home = join(base, "home");
  const root = join(base, "project");
  mkdirSync(home, { mode: 0o700 });
  mkdirSync(root);
  const approvals = { proof: "token" };
  writeJson(join(home, "config.json"), { approvals, policies: CORPUS_POLICIES.global });
  writeJson(join(root, "gate.config.json"), { id: "corpus", policies: CORPUS_POLICIES.project });
  const environment = { home, now: Date.now, id: () => crypto.randomUUID(), log: () => {} };
  const timeouts = { headers_ms: 2_000, request_ms: 3_000, check_ms: 100 };
  const gate = await startGate({ environment, port: 0, timeouts });
  await gate.daemon.projects.register(root, PERSON);
  return {
    port: gate.port,
    tokens: await openTokens(home),
    daemon_pid: process.pid,
    parent_pid: process.ppid,
    rss: () => process.memoryUsage().rss,
    async close() {
      await gate.close();
      rmSync(base, { recursive: true });
    },
  };
}

function writeJson(path: string, value: unknown): void {
  writeFileSync(path, JSON.stringify(value));
}
