import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { v7 } from "uuid";
import { expect, onTestFinished, test } from "vitest";
import { Daemon } from "../../../../server/daemon.ts";
import type { Project } from "../../../../server/projects/project.ts";
import { startChild } from "../../../child.ts";
import { decideByToken } from "../../../e2e/world.ts";
import { testCaller } from "../../../helpers.ts";
import { chooseSeed, createRandom } from "../../../random.ts";

/** `GATE_TEST_KILLS` sets the number of kills. */
const KILLS = Number(process.env["GATE_TEST_KILLS"] ?? 4);
/** Each check reads the whole history of a gate, so its cost grows with the kills of that gate. */
const MOST_KILLS_OF_A_GATE = 20;
/** A kill comes at most so many milliseconds after the first acknowledged action. */
const MOST_MS = 400;

const seed = chooseSeed(process.env);
const random = createRandom(seed);

test.each(gates())(
  "gate $gate: $kills times kill -9 at any moment lose no acknowledged action",
  async ({ gate, kills }) => {
    const { home, root } = makeFolders();
    const acknowledged: string[] = [];
    for (let kill = 0; kill < kills; kill++) {
      const when = `seed ${seed}, gate ${gate}, kill ${kill}`;
      const child = await startChild("server/actions/execute/kill_program.ts", [
        home,
        root,
        String(random(1e6)),
      ]);
      expect(await child.readLine(), when).toBe("ready");
      acknowledged.push((await child.readLine())!);
      const killed = pause(random(MOST_MS)).then(() => child.kill());
      for (let line; (line = await child.readLine()) !== null;) {
        // The last line may have been cut by the kill.
        if (line.length === 36) acknowledged.push(line);
      }
      await killed;
      await check({ home, root }, acknowledged, when);
    }
    console.log(`${kills} kills, ${acknowledged.length} acknowledged actions, seed ${seed}`);
  },
  Math.max(120_000, MOST_KILLS_OF_A_GATE * 20_000),
);

/** The gates that share the kills. */
function gates(): { gate: number; kills: number }[] {
  const count = Math.ceil(KILLS / MOST_KILLS_OF_A_GATE);
  return Array.from({ length: count }, (_, at) => ({
    gate: at + 1,
    kills: Math.min(MOST_KILLS_OF_A_GATE, KILLS - at * MOST_KILLS_OF_A_GATE),
  }));
}

/** Everything agrees after recovery: records, log, projections and files. */
async function check(
  { home, root }: { home: string; root: string },
  acknowledged: readonly string[],
  when: string,
): Promise<void> {
  const environment = { home, now: () => Date.now(), id: () => v7(), log: () => {} };
  const daemon = await Daemon.open(environment, { port: 47995 });
  try {
    const { id } = await daemon.projects.register(root, testCaller("reviewer"));
    const project = await daemon.projects.get(id);
    expect(daemon.projects.problems(), when).toEqual([]);
    const { ok, problem } = await project.audit.verify();
    expect({ ok, problem }, when).toEqual({ ok: true, problem: null });
    expect(await listNotDone(project, acknowledged), when).toEqual([]);
    const { open, last } = await readIntents(project);
    expect(open, when).toBe(0);
    for (const [path, sha256] of last) expect(hashOf(path), `${when}: ${path}`).toBe(sha256);
    const left = readdirSync(root, { recursive: true }).filter((name) => /\.gate-/.test(`${name}`));
    expect(left, when).toEqual([]);
  } finally {
    await daemon.close();
  }
}

/** The acknowledged actions that the ledger does not know as executed. */
async function listNotDone({ ledger }: Project, ids: readonly string[]) {
  return await ledger.all(
    `SELECT value AS id FROM json_each(?) WHERE NOT EXISTS
      (SELECT 1 FROM actions WHERE actions.id = value AND execution = 'succeeded')`,
    [JSON.stringify(ids)],
  );
}

/** How many intents are open, and the last content of each file by the intents that are done. */
async function readIntents({ ledger }: Project) {
  const rows = await ledger.all("SELECT path, after_sha256, state FROM intents ORDER BY rowid");
  const done = rows.filter(({ state }) => state === "done");
  return {
    open: rows.filter(({ state }) => state === "open").length,
    last: new Map(done.map(({ path, after_sha256 }) => [String(path), after_sha256])),
  };
}

function hashOf(path: string): string | null {
  if (!existsSync(path)) return null;
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}

function makeFolders(): { home: string; root: string } {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "gate-kill-")));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const [home, root] = [join(base, "home"), join(base, "root")];
  decideByToken(home);
  mkdirSync(root);
  const policies = { defaultEffect: "allow", askPaths: ["held/**"] };
  writeFileSync(join(root, "gate.config.json"), JSON.stringify({ id: "kill", policies }));
  return { home, root };
}
