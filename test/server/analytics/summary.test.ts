import { DaySums } from "../../../server/analytics/day_sums.ts";
import { summarize } from "../../../server/analytics/summarize.ts";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { AnalyticsSummary } from "../../../server/analytics/schema.ts";
import { MOST_KEYS } from "../../../server/db/ledger_rollups.ts";
import { createTestGate, type TestGate } from "../../helpers.ts";

const PERSON = { id: "reviewer", scope: "reviewer" } as const;

const POLICIES = {
  defaultEffect: "allow" as const,
  askPaths: ["held/**", "often/**"],
  blockedPaths: ["secret/**", ".env"],
};

async function ask(gate: TestGate, method: string, path: string, body?: unknown) {
  const response = await gate.request(method, path, body);
  expect(response.status).toBeLessThan(300);
  return await response.json();
}

const write = (gate: TestGate, path: string, content = "x") =>
  ask(gate, "POST", "/api/actions", { tool: "write_file", input: { path, content } });

const summary = async (gate: TestGate, window = "30d", at = "/api/analytics/summary") =>
  AnalyticsSummary.parse(await ask(gate, "GET", `${at}?window=${window}`));

test("an empty ledger has every field: zero counts, null for unknown values", async () => {
  const gate = await createTestGate();
  expect(await summary(gate)).toEqual({
    window: "30d",
    from: "2025-12-02T00:00:00.000Z",
    top_blocked_paths: [],
    busiest_hours: [],
    approval_latency: { count: 0, p50_ms: null, p95_ms: null, max_ms: null, distribution: [] },
    decisions: {
      approved: 0,
      rejected: 0,
      blocked: 0,
      expired: 0,
      cancelled: 0,
      total: 0,
      by_reviewer: [],
      by_agent: [],
      by_day: [],
      by_step: null,
      by_rule: [],
    },
    policy_accuracy: {
      asked_always_approved: null,
      allowed_later_rolled_back: null,
      overruled_rate: null,
    },
  });
});

test("the summary counts decisions by path, reviewer, agent and rule", async () => {
  const gate = await createTestGate({ policies: POLICIES });
  for (let n = 0; n < 3; n++) await write(gate, "secret/key");
  await write(gate, ".env");
  const free = await write(gate, "free");
  await write(gate, "other");
  for (const [n, verb] of ["approve", "approve", "reject"].entries()) {
    const held = await write(gate, `held/${n}`);
    gate.clock.advance([1_234, 2_000, 90_000][n]!);
    await ask(gate, "POST", `/api/actions/${held.id}/${verb}`, {});
  }
  for (let n = 0; n < 3; n++) {
    const held = await write(gate, `often/${n}`);
    await ask(gate, "POST", `/api/actions/${held.id}/approve`, {});
  }
  const cancelled = await write(gate, "held/no");
  await ask(gate, "POST", `/api/actions/${cancelled.id}/cancel`, {});
  await ask(gate, "POST", `/api/actions/${free.id}/rollback`, {});

  const found = await summary(gate);
  expect(found.top_blocked_paths).toEqual([
    { path: "secret/key", count: 3 },
    { path: ".env", count: 1 },
  ]);
  // 2026-01-01 is a Thursday. The rollback counts as an action.
  expect(found.busiest_hours).toEqual([{ weekday: 4, hour: 0, count: 14 }]);
  const { distribution, ...latency } = found.approval_latency;
  expect(latency).toEqual({ count: 6, p50_ms: 0, p95_ms: 90_000, max_ms: 90_000 });
  expect(distribution.filter(({ count }) => count > 0)).toEqual([
    { from_ms: 0, to_ms: 1_000, count: 3 },
    { from_ms: 1_000, to_ms: 5_000, count: 2 },
    { from_ms: 60_000, to_ms: 300_000, count: 1 },
  ]);
  expect(found.decisions.by_day).toEqual([
    {
      ...{ day: "2026-01-01", allowed: 2, approved: 7 },
      ...{ rejected: 1, blocked: 4, expired: 0, cancelled: 1 },
    },
  ]);
  // The list behind each mark has as many actions as the mark says.
  const listed = async (query: string) =>
    (await ask(gate, "GET", `/api/actions?limit=500&${query}`)).items.length;
  for (
    const [query, n] of [
      ["waited_from=0&waited_to=1000", 3],
      ["waited_from=1000&waited_to=5000", 2],
      ["waited_from=5000&waited_to=60000", 0],
      ["waited_from=60000", 1],
      ["outcome=allowed", 2],
      ["outcome=approved", 5],
      ["outcome=rejected&decided_from=2026-01-01&decided_to=2026-01-02", 1],
      ["outcome=blocked&decided_from=2026-01-02", 0],
      ["outcome=blocked&status=blocked", 4],
      ["outcome=cancelled", 1],
      ["weekday=4&hour=0", 14],
      ["weekday=3", 0],
      ["hour=23", 0],
      ["rule=project/askPaths/held/**", 4],
      ["rule=project/blockedPaths/.env", 1],
      ["rule=global/blockedPaths/.env", 0],
      ["rule=default&outcome=allowed", 2],
      ["outcome=blocked&q=key", 3],
    ] as const
  ) {
    expect(await listed(query), query).toBe(n);
  }
  for (
    const bad of [
      ...["outcome=x", "weekday=7", "weekday=", "hour=24", "hour=-1", "rule=a/b", "rule="],
      ...["waited_from=-1", "waited_to=x", "waited_to=", "decided_from=never"],
    ]
  ) {
    const response = await gate.request("GET", `/api/actions?${bad}`);
    expect(response.status, bad).toBe(400);
  }
  expect(found.decisions).toMatchObject({
    approved: 7,
    rejected: 1,
    blocked: 4,
    expired: 0,
    cancelled: 1,
    total: 13,
    by_reviewer: [{ reviewer: "reviewer", approved: 5, rejected: 1 }],
    by_agent: [{ agent: "reviewer", approved: 7, rejected: 1, blocked: 4, cancelled: 1 }],
  });
  expect(found.decisions.by_rule).toEqual(expect.arrayContaining([
    expect.objectContaining({
      effect: "ask",
      source: "project",
      list: "askPaths",
      pattern: "held/**",
      approved: 2,
      rejected: 1,
      cancelled: 1,
    }),
    expect.objectContaining({ effect: "deny", pattern: "secret/**", blocked: 3 }),
    expect.objectContaining({ effect: "allow", pattern: null, approved: 2 }),
  ]));
  expect(found.policy_accuracy).toEqual({
    asked_always_approved: 1,
    allowed_later_rolled_back: 1,
    overruled_rate: 0.5,
  });
});

test("rolling back a rollback takes the action out of the rolled-back share", async () => {
  const gate = await createTestGate();
  const { id } = await write(gate, "a");
  const { rollback } = await ask(gate, "POST", `/api/actions/${id}/rollback`, {});
  expect((await summary(gate)).policy_accuracy.allowed_later_rolled_back).toBe(1);
  await ask(gate, "POST", `/api/actions/${rollback.id}/rollback`, {});
  expect((await summary(gate)).policy_accuracy.allowed_later_rolled_back).toBe(0);
});

test("the window counts whole days", async () => {
  const gate = await createTestGate({ policies: POLICIES });
  await write(gate, ".env");
  gate.clock.advance(3 * 86_400_000);
  await write(gate, "secret/late");
  expect((await summary(gate, "1d")).top_blocked_paths).toEqual([{
    path: "secret/late",
    count: 1,
  }]);
  expect((await summary(gate, "3d")).top_blocked_paths).toHaveLength(2);
  expect((await summary(gate, "3650d")).decisions.total).toBe(2);
});

test("a window that ends before a day counts neither that day nor later ones", async () => {
  const gate = await createTestGate({ policies: POLICIES });
  const day = (after: number) =>
    new Date(gate.clock.now + after * 86_400_000).toISOString().slice(0, 10);
  const days = [day(0), day(1), day(2), day(3)];
  for (const path of [".env", "secret/b", "secret/c"]) {
    await write(gate, path);
    gate.clock.advance(86_400_000);
  }
  const blocked = async (window: string, to: string) =>
    (await summary(gate, `${window}&to=${to}`)).top_blocked_paths.map(({ path }) => path).sort();
  // In both orders, because sums of closed days are kept.
  for (let turn = 0; turn < 2; turn++) {
    expect(await blocked("1d", days[1]!)).toEqual([".env"]);
    expect(await blocked("1d", days[2]!)).toEqual(["secret/b"]);
    expect(await blocked("2d", days[3]!)).toEqual(["secret/b", "secret/c"]);
    expect(await blocked("30d", days[2]!)).toEqual([".env", "secret/b"]);
    expect(await blocked("1d", day(5))).toEqual([]);
    expect((await summary(gate, "30d")).top_blocked_paths).toHaveLength(3);
  }
  const { decisions, busiest_hours } = await summary(gate, `1d&to=${days[2]}`);
  expect(decisions).toMatchObject({ total: 1, by_day: [{ day: days[1] }] });
  expect(busiest_hours.reduce((sum, { count }) => sum + count, 0)).toBe(1);
});

test("the latency percentiles of 2,000 decisions are within 5 %", async () => {
  const gate = await createTestGate({ policies: POLICIES });
  const held = await write(gate, "held/a");
  const waits = Array.from({ length: 2_000 }, (_, n) => (n * 7919) % 600_000);
  const insert = (ms: number, n: number) => ({
    sql:
      `INSERT INTO actions (project_id, id, seq, root, session_id, agent, tool, status, execution,
      decision, risk, reversible, digest, created_at)
      VALUES ('test', ?, ?, '', ?, 'a', 'write_file', 'pending', 'none', '{}', '{}', 0, '', ?)`,
    args: [`p${n}`, 2 + n, held.session_id, new Date(Date.UTC(2026, 0, 1) - ms).toISOString()],
  });
  const decide = {
    sql:
      `UPDATE actions SET status = 'approved', decided_by = 'r', decided_at = ? WHERE id LIKE 'p%'`,
    args: [new Date(Date.UTC(2026, 0, 1)).toISOString()],
  };
  await gate.project.ledger.commit({ statements: [...waits.map(insert), decide], events: [] });
  const sorted = waits.toSorted((a, b) => a - b);
  const { count, p50_ms, p95_ms, max_ms } = (await summary(gate)).approval_latency;
  expect({ count, max_ms }).toEqual({ count: 2_000, max_ms: sorted.at(-1) });
  expect(Math.abs(p50_ms! / sorted[999]! - 1)).toBeLessThan(0.05);
  expect(Math.abs(p95_ms! / sorted[1899]! - 1)).toBeLessThan(0.05);
});

test("the daily counts are bounded however many names there are", async () => {
  const gate = await createTestGate({ policies: POLICIES });
  const { session_id } = await write(gate, ".env");
  const statements = Array.from({ length: MOST_KEYS * 2 }, (_, n) => ({
    sql: `INSERT INTO actions (project_id, id, seq, root, session_id, agent, tool, path, status,
      execution, decision, risk, reversible, digest, created_at, decided_at, decided_by)
      VALUES ('test', ?, ?, '', ?, ?, 'x', ?, 'blocked', 'none', '{}', '{}', 0, '', ?, ?, 'policy')`,
    args: [
      ...[`f${n}`, 2 + n, session_id, `agent ${n}`, `path ${n}`],
      ...["2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00.000Z"],
    ],
  }));
  await gate.project.ledger.commit({ statements, events: [] });
  const rows = await gate.project.ledger.all(
    "SELECT kind, count(*) AS n, sum(n) AS total FROM daily_counts GROUP BY kind ORDER BY kind",
  );
  for (const { n } of rows) expect(n).toBeLessThanOrEqual(MOST_KEYS + 1);
  expect(rows.find(({ kind }) => kind === "blocked_path")).toMatchObject({
    total: MOST_KEYS * 2 + 1,
  });
  const found = await summary(gate);
  expect(found.decisions.total).toBe(MOST_KEYS * 2 + 1);
  expect(found.top_blocked_paths.every(({ path }) => path !== "")).toBe(true);
});

test("the global summary adds up all projects", async () => {
  const gate = await createTestGate({ policies: POLICIES });
  const root = join(gate.root, "..", "two");
  mkdirSync(root);
  writeFileSync(join(root, "gate.config.json"), JSON.stringify({ id: "two", policies: POLICIES }));
  await gate.daemon.projects.register(root, PERSON);
  await ask(gate, "POST", "/api/actions?project=test", {
    tool: "write_file",
    input: { path: ".env", content: "" },
  });
  await ask(gate, "POST", "/api/actions?project=two", {
    tool: "write_file",
    input: { path: ".env", content: "" },
  });
  const found = await summary(gate, "7d", "/api/global/analytics/summary");
  expect(found).toMatchObject({
    window: "7d",
    top_blocked_paths: [{ path: ".env", count: 2 }],
    decisions: { blocked: 2, total: 2 },
  });
});

test.each([
  ...["0d", "3651d", "7", "d", "07d", "1w", "", "1d&window=2d"],
  ...["0h", "49h", "2881m", "h", "1.5h", "1d&to=x", "1h&to=2026-01-01T25:00:00Z", "1h&to=12:00"],
])(
  "?window=%s is answered 400",
  async (window) => {
    const gate = await createTestGate();
    for (const path of ["/api/analytics/summary", "/api/global/analytics/summary"]) {
      expect((await gate.request("GET", `${path}?window=${window}`)).status).toBe(400);
    }
  },
);

test("cached sums of past days equal freshly computed sums", async () => {
  const gate = await createTestGate({ policies: { defaultEffect: "deny" } });
  const write = (path: string) =>
    gate.request(
      "POST",
      "/api/actions",
      { tool: "write_file", input: { path, content: "" } },
      "agent",
    );
  for (let hour = 0; hour < 24 * 5; hour += 3) {
    for (let n = 0; n < 1 + hour % 4; n++) await write(`path${(hour * 7 + n) % 11}`);
    if (hour % 2 === 0) await summary(gate, "2d");
    const remembered = await summary(gate);
    const fresh = await summarize(
      [{ ledger: gate.project.ledger, daySums: new DaySums(gate.project.ledger) }],
      { window: "30d" },
      gate.clock.now,
    );
    expect(remembered, `hour ${hour}`).toEqual(fresh);
    gate.clock.advance(3 * 3_600_000);
  }
});
