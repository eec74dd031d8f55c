import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Action } from "../../../server/actions/schema.ts";
import { Database } from "../../../server/db/database.ts";
import { LEDGER_MIGRATIONS } from "../../../server/db/ledger_migrations.ts";
import { migrate } from "../../../server/db/migrate.ts";
import type { PolicyHit } from "../../../server/policy/schema.ts";
import { createTestGate, type TestGate } from "../../helpers.ts";
import { random } from "./interpret/disguise.ts";

const POLICIES = {
  defaultEffect: "ask" as const,
  allowedPaths: ["src/**", "docs/**"],
  askPaths: ["held/**"],
  blockedPaths: [".env", "secret/**"],
};
const PATHS = ["src/a", "docs/b", "held/c", "held/d", ".env", "secret/e", "other/f"];

async function ask(gate: TestGate, method: string, path: string, body?: unknown) {
  return await (await gate.request(method, path, body)).json();
}

/** Counts the hits anew from the actions themselves. */
async function recount(gate: TestGate): Promise<Map<string, Partial<PolicyHit>>> {
  const { items } = await ask(gate, "GET", "/api/actions?limit=500") as { items: Action[] };
  const counted = new Map<string, { count: number; overruled: number; [effect: string]: number }>();
  for (const { decision: { rule, effect }, status } of items) {
    if (!rule) continue;
    const key = JSON.stringify(rule);
    const sums = counted.get(key) ?? { count: 0, allow: 0, ask: 0, deny: 0, overruled: 0 };
    sums.count++;
    sums[effect]! += 1;
    const undone = status === "rolled_back";
    sums.overruled += Number(effect === "ask" ? undone || status === "approved" : undone);
    counted.set(key, sums);
  }
  return counted;
}

test("the counts are those of the whole ledger, whatever happens to the actions", async () => {
  const gate = await createTestGate({ policies: POLICIES });
  const next = random(5);
  const pick = <T>(list: readonly T[]) => list[Math.floor(next() * list.length)]!;
  for (let at = 0; at < 60; at++) {
    const input = { path: pick(PATHS), content: String(at) };
    const { id, status } = await ask(gate, "POST", "/api/actions", { tool: "write_file", input });
    if (status === "pending" && next() < 0.8) {
      await ask(gate, "POST", `/api/actions/${id}/${pick(["approve", "reject", "cancel"])}`, {
        reason: "so",
      });
    }
    if (next() < 0.4) {
      const undone = await ask(gate, "POST", `/api/actions/${id}/rollback`, {});
      if (next() < 0.5 && undone.id) {
        await ask(gate, "POST", `/api/actions/${undone.id}/rollback`, {});
      }
    }
  }
  const hits = await ask(gate, "GET", "/api/policy/hits") as PolicyHit[];
  const shown = hits.map(({ rule, last_hit_at: _, ...counts }) => [JSON.stringify(rule), counts]);
  expect(new Map(shown as [string, object][])).toEqual(await recount(gate));
  expect(hits.some(({ overruled, allow }) => overruled > 0 && allow > 0)).toBe(true);
  expect(hits.map(({ count }) => count)).toEqual(
    hits.map(({ count }) => count).toSorted((a, b) => b - a),
  );
});

test("a ledger from before is counted when it is brought forward", async () => {
  const folder = mkdtempSync(join(tmpdir(), "gate-hits-"));
  const database = await Database.open(join(folder, "ledger.db"));
  onTestFinished(async () => {
    await database.close();
    rmSync(folder, { recursive: true, force: true });
  });
  await migrate(database, LEDGER_MIGRATIONS.slice(0, 1), Date.now);
  await database.batch([
    {
      sql: `INSERT INTO sessions (project_id, id, seq, root, host, agent, client, started_at,
        last_seen_at) VALUES ('p', 's', 1, '/', 'h', 'a', 'c', 't', 't')`,
      args: [],
    },
    ...["allow rolled_back", "ask approved", "ask rejected", "deny blocked"].map((one, at) => {
      const [effect, status] = one.split(" ");
      const rule = { pattern: "x", list: "askPaths", source: "project" };
      return {
        sql: `INSERT INTO actions (project_id, id, seq, root, session_id, agent, tool, status,
          execution, decision, risk, reversible, digest, created_at, decided_by)
          VALUES ('p', ?, ?, '/', 's', 'a', 'write_file', ?, 'none', ?, '{}', 0, 'd', ?, 'ada')`,
        args: [`a${at}`, at, status!, JSON.stringify({ effect, rule }), `2026-01-0${at + 1}`],
      };
    }),
  ]);
  await migrate(database, LEDGER_MIGRATIONS, Date.now);
  expect(await database.all("SELECT * FROM rule_hits")).toEqual([{
    ...{ project_id: "p", source: "project", list: "askPaths", pattern: "x" },
    ...{ allow: 1, ask: 2, deny: 1, overruled: 2, last_hit_at: "2026-01-04" },
  }]);
});
