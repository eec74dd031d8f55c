import { expect, test } from "vitest";
import { AnalyticsSummary } from "../../../server/analytics/schema.ts";
import { createTestGate, type TestGate } from "../../helpers.ts";

const HOUR = 3_600_000;
const POLICIES = {
  defaultEffect: "allow" as const,
  askPaths: ["held/**"],
  blockedPaths: [".env"],
};

async function ask(gate: TestGate, method: string, path: string, body?: unknown) {
  const response = await gate.request(method, path, body);
  expect(response.status).toBeLessThan(300);
  return await response.json();
}

const write = (gate: TestGate, path: string) =>
  ask(gate, "POST", "/api/actions", { tool: "write_file", input: { path, content: "x" } });

const decide = (gate: TestGate, id: string, verb: string) =>
  ask(gate, "POST", `/api/actions/${id}/${verb}`, {});

const summary = async (gate: TestGate, query: string, at = "/api/analytics/summary") =>
  AnalyticsSummary.parse(await ask(gate, "GET", `${at}?${query}`));

const listed = async (gate: TestGate, query: string) =>
  (await ask(gate, "GET", `/api/actions?limit=500&${query}`)).items.length;

/** Two days with every kind of decision, at odd times. The clock begins at 2026-01-01T00:00Z. */
async function history(): Promise<TestGate> {
  const gate = await createTestGate({ policies: POLICIES });
  for (let n = 0; n < 40; n++) {
    gate.clock.advance(47 * 60_000 + n * 1_013);
    await write(gate, n % 5 === 0 ? ".env" : `free/${n}`);
    const held = await write(gate, `held/${n}`);
    gate.clock.advance(n % 7 * 9_100);
    if (n % 4 === 0) await decide(gate, held.id, "reject");
    else if (n % 9 === 1) await decide(gate, held.id, "cancel");
    else if (n % 9 !== 2) await decide(gate, held.id, "approve");
    if (n % 11 === 3) {
      const { id } = await write(gate, `undone/${n}`);
      await decide(gate, id, "rollback");
    }
  }
  return gate;
}

test("a day counted to the minute has the figures of the daily counts", async () => {
  const gate = await history();
  const exact = await summary(gate, "window=24h&to=2026-01-02T00:00:00Z");
  const days = await summary(gate, "window=1d&to=2026-01-02");
  expect(days.decisions.total).toBeGreaterThan(30);
  const parts = ({ window: _window, decisions, ...rest }: AnalyticsSummary) => {
    const { by_day: _day, by_step: _step, ...others } = decisions;
    return { ...rest, decisions: others };
  };
  expect(parts(exact)).toEqual(parts(days));
  expect(exact.decisions.by_day).toEqual([]);
  expect(days.decisions.by_step).toBe(null);
  const [day] = days.decisions.by_day;
  for (const name of ["allowed", "approved", "rejected", "blocked", "cancelled"] as const) {
    const steps = exact.decisions.by_step!.steps.map((step) => step[name]);
    expect(steps.reduce((sum, n) => sum + n, 0), name).toBe(day![name]);
  }
  expect(await summary(gate, "window=24h&to=2026-01-02T00:00:00Z", "/api/global/analytics/summary"))
    .toEqual(exact);
});

test("each figure and each step has as many actions as the list behind it", async () => {
  const gate = await history();
  const from = "2026-01-01T10:10:00.000Z";
  const to = "2026-01-01T16:10:00.000Z";
  const found = await summary(gate, `window=6h&to=${to}`);
  expect(found.from).toBe(from);
  const { decisions } = found;
  expect(decisions.by_step!.minutes).toBe(5);
  expect(decisions.by_step!.steps.length).toBeGreaterThan(5);
  for (const { at, allowed, ...outcomes } of decisions.by_step!.steps) {
    const end = new Date(Date.parse(at) + 5 * 60_000).toISOString();
    const step = `decided_from=${at}&decided_to=${end}`;
    expect(await listed(gate, `${step}&outcome=allowed`), at).toBe(allowed);
    expect(await listed(gate, `${step}&outcome=approved`), at).toBe(outcomes.approved - allowed);
    for (const outcome of ["rejected", "blocked", "cancelled"] as const) {
      expect(await listed(gate, `${step}&outcome=${outcome}`), at).toBe(outcomes[outcome]);
    }
  }
  const decided = `decided_from=${from}&decided_to=${to}`;
  expect(await listed(gate, `${decided}&waited_from=0`)).toBe(found.approval_latency.count);
  expect(await listed(gate, `${decided}&outcome=blocked&path=.env`))
    .toBe(found.top_blocked_paths[0]!.count);
  // The hours of the week have their actions by submission.
  const submitted = found.busiest_hours.reduce((sum, { count }) => sum + count, 0);
  expect(await listed(gate, `from=${from}&to=${to}`)).toBe(submitted);
});

test("the last hour has a decision about an action that was held hours ago, and nothing older", async () => {
  const gate = await createTestGate({ policies: POLICIES });
  const old = await write(gate, "held/old");
  const never = await write(gate, "held/never");
  gate.clock.advance(19 * HOUR);
  await write(gate, "free/before");
  gate.clock.advance(2 * HOUR);
  await decide(gate, old.id, "approve");
  await write(gate, "free/now");
  gate.clock.advance(10 * 60_000);
  const found = await summary(gate, "window=1h");
  expect(found.decisions).toMatchObject({ total: 2, approved: 2, rejected: 0 });
  expect(found.approval_latency).toMatchObject({ count: 1, max_ms: 21 * HOUR });
  expect(found.busiest_hours.map(({ count }) => count)).toEqual([1]);
  expect(found.decisions.by_step!.steps).toMatchObject([{ approved: 2, allowed: 1 }]);
  // Each event and each minute may change the figures.
  await decide(gate, never.id, "reject");
  expect((await summary(gate, "window=1h")).decisions).toMatchObject({ total: 3, rejected: 1 });
  gate.clock.advance(55 * 60_000);
  expect((await summary(gate, "window=1h")).decisions).toMatchObject({ total: 1, approved: 0 });
});

test("attention counts the decisions of the range, not those about its submissions", async () => {
  const gate = await createTestGate({ policies: POLICIES });
  const first = await write(gate, "held/first");
  const second = await write(gate, "held/second");
  await decide(gate, first.id, "approve");
  gate.clock.advance(20 * HOUR);
  await decide(gate, second.id, "approve");
  const decisions = async (window: string) => {
    const { reviewers } = await ask(gate, "GET", `/api/analytics/attention?window=${window}`);
    return reviewers[0]?.decisions ?? 0;
  };
  expect(await decisions("1h")).toBe(1);
  expect(await decisions("19h")).toBe(1);
  expect(await decisions("1d")).toBe(2);
});

test("a range with more paths and agents than are counted by name counts the rest without one", async () => {
  const gate = await createTestGate({ policies: POLICIES });
  const { id } = await ask(gate, "POST", "/api/sessions", { agent: "codex" });
  await gate.project.ledger.commit({
    statements: [{
      sql: `INSERT INTO actions (project_id, id, seq, root, session_id, agent, tool, path, status,
          execution, decision, risk, reversible, digest, created_at, decided_at, decided_by)
        WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 700)
        SELECT 'test', 'a' || n, n, '', ?1, 'agent ' || n, 'write_file', 'p' || n || '/.env',
          'blocked', 'none', '{"effect":"deny"}', '{"level":"low"}', 0, '', ?2, ?2, 'policy'
        FROM numbers`,
      args: [id, new Date(gate.environment.now()).toISOString()],
    }],
    events: [],
  });
  gate.clock.advance(60_000);
  const exact = await summary(gate, "window=1h");
  expect(exact.decisions).toMatchObject({ total: 700, blocked: 500 });
  expect(exact.top_blocked_paths).toHaveLength(20);
  expect(exact.top_blocked_paths.map(({ count }) => count)).toEqual(Array(20).fill(1));
  expect(exact.decisions.by_agent).toHaveLength(100);
  expect(exact.busiest_hours.map(({ count }) => count)).toEqual([700]);
  const days = await summary(gate, "window=1d");
  expect(days.decisions).toMatchObject({ total: 700, blocked: 500 });
});

test("a gap in the numbers of actions costs no reads", async () => {
  const gate = await createTestGate({ policies: POLICIES });
  await write(gate, "free/near");
  await gate.project.ledger.commit({
    statements: [{
      sql: `INSERT INTO actions (project_id, id, number, seq, root, session_id, agent, tool, path,
          status, execution, decision, risk, reversible, digest, created_at, decided_at, decided_by)
        SELECT project_id, 'far', ?1, ?1, root, session_id, agent, tool, 'free/far',
          status, execution, decision, risk, reversible, digest, created_at, decided_at, decided_by
        FROM actions WHERE number = 1`,
      args: [2 ** 40],
    }],
    events: [],
  });
  gate.clock.advance(60_000);
  const found = await summary(gate, "window=1h");
  expect(found.busiest_hours.reduce((sum, { count }) => sum + count, 0)).toBe(2);
});
