/** `npx -y deno run -A test/bench/ledger.ts [actions]`: lists, search, summaries and exports of a large ledger. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import process from "node:process";
import { v7 } from "uuid";
import { exportChain } from "../../server/audit/export.ts";
import { Daemon } from "../../server/daemon.ts";
import type { Project } from "../../server/projects/project.ts";

const SIZES = [1_000, Number(process.argv[2] ?? 1_000_000)];
const STEP = 20_000;
const ROUNDS = 100;

main();

async function main(): Promise<void> {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "gate-bench-")));
  const [home, root] = [join(base, "home"), join(base, "project")];
  mkdirSync(home, { mode: 0o700 });
  mkdirSync(root);
  writeFileSync(join(root, "gate.config.json"), JSON.stringify({ id: "bench" }));
  const environment = { home, now: Date.now, id: () => v7(), log: () => {} };
  const daemon = await Daemon.open(environment, { port: 47_998 });
  try {
    await daemon.registerProject(root);
    const project = await daemon.project("bench");
    const { id } = await project.sessions.open({}, { scope: "agent", id: "codex", via: "token" });
    const medians: Record<string, number>[] = [];
    for (let [planted, at] = [0, 0]; at < SIZES.length; planted = SIZES[at++]!) {
      await plant(project, id, planted, SIZES[at]!);
      medians.push(await timeReads(project, SIZES[at]!));
    }
    for (const [name, small] of Object.entries(medians[0]!)) {
      const large = medians[1]![name]!;
      const ratio = (large / small).toFixed(2);
      console.log(`${name.padEnd(24)} ${small.toFixed(3)} → ${large.toFixed(3)} ms, × ${ratio}`);
    }
    await timeExport(project);
  } finally {
    await daemon.close();
    rmSync(base, { recursive: true, force: true });
  }
}

/** Actions and audit rows number `from` + 1 to `to`, by the database itself. */
async function plant(project: Project, session: string, from: number, to: number): Promise<void> {
  const started = performance.now();
  const hash = "hex(zeroblob(16)) || printf('%032d', n)";
  for (let at = from; at < to; at += STEP) {
    const numbers = `WITH RECURSIVE s(n) AS (VALUES (${at + 1}) UNION ALL
      SELECT n + 1 FROM s WHERE n < ${Math.min(to, at + STEP)})`;
    const time = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-' || (n % 30) || ' days')";
    await project.ledger.commit({
      events: [],
      statements: [{
        sql:
          `${numbers} INSERT INTO actions (project_id, id, seq, root, session_id, agent, tool, path,
          status, execution, decision, risk, reversible, digest, created_at, decided_at, decided_by)
          SELECT 'bench', printf('%08d-0000-7000-8000-%012d', n / 1000, n), n, '', ?,
            'agent' || (n % 5), 'write_file', 'src/part' || (n % 1000) || '/file' || n || '.ts',
            iif(n % 50, 'approved', 'blocked'), 'succeeded', '{"effect":"allow","reason":"Allowed"}',
            '{"level":"low"}', 0, n, ${time}, ${time}, 'policy' FROM s`,
        args: [session],
      }, {
        sql:
          `${numbers} INSERT INTO audit SELECT 'bench', n + 1, ${time}, ?, NULL, 'action.submitted',
          '{"id":"codex","kind":"agent"}', '{"command":"make","path":"src/file.ts"}',
          ${hash}, ${hash} FROM s`,
        args: [session],
      }],
    });
  }
  const each = (performance.now() - started) * 1_000 / (to - from);
  console.log(`${to} actions with an event each: ${each.toFixed(0)} µs apiece\n`);
}

async function timeReads(project: Project, size: number): Promise<Record<string, number>> {
  const { actions } = project;
  const reads: Record<string, () => Promise<unknown>> = {
    "list": () => actions.list({}),
    "filter: status": () => actions.list({ status: "blocked" }),
    "filter: agent, status": () => actions.list({ agent: "agent0", status: "blocked" }),
    "filter: path": () => actions.list({ path: `src/part7/file7.ts` }),
    "search: common word": () => actions.list({ q: "src" }),
    "search: rare word": () => actions.list({ q: "file17.ts" }),
    "search: two words": () => actions.list({ q: `part${size % 1000} allowed` }),
    "summary: 30 days": () => project.summarize("30d"),
  };
  const medians: Record<string, number> = {};
  for (const [name, read] of Object.entries(reads)) {
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const started = performance.now();
      await read();
      times.push(performance.now() - started);
    }
    medians[name] = times.toSorted((a, b) => a - b)[ROUNDS / 2]!;
  }
  return medians;
}

async function timeExport(project: Project): Promise<void> {
  const loop = monitorEventLoopDelay({ resolution: 5 });
  loop.enable();
  const before = process.memoryUsage().rss;
  let [most, bytes, first] = [before, 0, 0];
  const started = performance.now();
  // The planted rows are no chain: its end is told.
  const head = { ...await project.audit.checkpoint(), seq: SIZES.at(-1)! + 1 };
  for await (const piece of exportChain(project.ledger, { format: "csv" }, head)) {
    first ||= performance.now() - started;
    bytes += piece.length;
    most = Math.max(most, process.memoryUsage().rss);
  }
  const seconds = (performance.now() - started) / 1_000;
  loop.disable();
  const rows = SIZES.at(-1)! / seconds;
  console.log(
    `\nCSV: ${rows.toFixed(0)} events/s, ${(bytes / 1e6).toFixed(0)} MB, ` +
      `first piece after ${first.toFixed(1)} ms, memory + ${
        ((most - before) / 2 ** 20).toFixed(0)
      } ` +
      `MiB, event loop held ${(loop.max / 1e6).toFixed(0)} ms at most`,
  );
}
