import { expect, test } from "vitest";
import { listActions } from "../../../../server/actions/list/store.ts";
import { ActionList, type ActionQuery } from "../../../../server/actions/list/schema.ts";
import { listCounts, listLatencies } from "../../../../server/analytics/store.ts";
import { listFiltered, listStored, readCsvPage } from "../../../../server/audit/store.ts";
import type { Ledger } from "../../../../server/db/ledger.ts";
import { listSessions, summarizeActions } from "../../../../server/sessions/store.ts";
import { createTestGate, testCaller, type TestGate } from "../../../helpers.ts";

interface Planted {
  seq: number;
  status: string;
  tool: string;
  agent: string;
  path: string;
  reason: string | null;
  risk: string;
  at: string;
}

/** Inserts actions of all kinds into the ledger, ten a minute. The clock is set back twice. */
async function plant(gate: TestGate, count: number): Promise<Planted[]> {
  const session = await gate.project.sessions.open({}, testCaller());
  const rows = Array.from({ length: count }, (_, n): Planted => ({
    seq: n + 1,
    status: n % 7 === 0 ? "blocked" : n % 1_999 === 3 ? "rejected" : "approved",
    tool: n % 3 ? "write_file" : "run_command",
    agent: n % 2 ? "codex" : "claude",
    path: `src/part${n % 10}/file${n}.ts`,
    reason: n % 500 === 17 ? "zu gefährlich" : null,
    risk: n % 100 === 50 ? "critical" : "low",
    at: new Date(gate.clock.now + (n - (n > 700 ? 300 : 0) - (n > 1_900 ? 900 : 0)) * 6_000)
      .toISOString(),
  }));
  const statements = rows.map((row) => ({
    sql: `INSERT INTO actions (project_id, id, seq, root, session_id, agent, tool, path, status,
      execution, decision, risk, reversible, digest, created_at, reason, decided_by)
      VALUES ('test', ?, ?, '', ?, ?, ?, ?, ?, 'none', ?, ?, 0, '', ?, ?, 'policy')`,
    args: [
      ...[`a${row.seq}`, row.seq, session.id, row.agent, row.tool, row.path, row.status],
      ...[JSON.stringify({ reason: "Allowed by default" }), JSON.stringify({ level: row.risk })],
      ...[row.at, row.reason],
    ],
  }));
  await gate.project.ledger.commit({ statements, events: [] });
  return rows;
}

async function seqs(gate: TestGate, query: string): Promise<number[]> {
  const found: number[] = [];
  for (let cursor = ""; cursor !== "end";) {
    const limit = query.includes("limit=") ? "" : "limit=500&";
    const at = `/api/actions?${limit}${query}${cursor && `&cursor=${cursor}`}`;
    const response = await gate.request("GET", at);
    expect(response.status, query).toBe(200);
    const page = await response.json();
    found.push(...page.items.map(({ seq }: { seq: number }) => seq));
    cursor = page.next_cursor ?? "end";
  }
  return found;
}

test(
  "every filter and every pair of filters finds exactly the matching actions, newest first",
  async () => {
    const gate = await createTestGate();
    const rows = await plant(gate, 2_500);
    const at = (minutes: number) => new Date(gate.clock.now + minutes * 60_000).toISOString();
    const filters: [string, (row: Planted) => boolean][] = [
      [`from=${at(80)}`, (row) => row.at >= at(80)],
      [`from=${at(61)}&to=${at(62)}`, (row) => row.at >= at(61) && row.at < at(62)],
      [`to=${at(100)}`, (row) => row.at < at(100)],
      ["from=2025-12-31&to=2026-01-01", () => false],
      ["from=2027-01-01", () => false],
      ["from=2026-01-01&to=2026-01-02", () => true],
      ["status=blocked", ({ status }) => status === "blocked"],
      ["status=approved", ({ status }) => status === "approved"],
      ["risk=low", ({ risk }) => risk === "low"],
      ["execution=running", () => false],
      ["status=rejected", ({ status }) => status === "rejected"],
      ["tool=run_command", ({ tool }) => tool === "run_command"],
      ["agent=codex", ({ agent }) => agent === "codex"],
      ["path=src/part7/file1237.ts", ({ path }) => path === "src/part7/file1237.ts"],
      ["risk=critical", ({ risk }) => risk === "critical"],
      ["execution=none", () => true],
      ["decided_by=policy", () => true],
      ["decided_by=nobody", () => false],
      ["q=part3", ({ path }) => path.includes("part3/")],
      ["q=gefahrlich", ({ reason }) => reason !== null],
      ["q=FILE77.TS", ({ path }) => path.endsWith("/file77.ts")],
      ["q=nowhere", () => false],
      ["q=src/part3%20allowed", ({ path }) => path.includes("part3/")],
    ];
    for (const [place, [first, one]] of filters.entries()) {
      for (const [second, other] of filters.slice(place)) {
        const names = [first, second].map((query) => [...new URLSearchParams(query).keys()]);
        if (first !== second && names[0]!.some((name) => names[1]!.includes(name))) continue;
        const query = first === second ? first : `${first}&${second}`;
        const wanted = rows.filter((row) => one(row) && other(row)).map(({ seq }) => seq).reverse();
        expect(await seqs(gate, query), query).toEqual(wanted);
      }
    }
  },
  60_000,
);

const STATUSES = [
  ...["pending", "rejected", "blocked", "rolled_back", "expired", "cancelled", "approved"],
];
const RISKS = ["critical", "high", "medium", "low"];

/** To read all numbers up to this one takes hours. */
const FAR = 2 ** 40;

test.each([["newest", [FAR, 3, 2, 1]], ["oldest", [1, 2, 3, FAR]]])(
  "a list passes by the numbers before one that another program wrote: %s first",
  async (order, wanted) => {
    const gate = await createTestGate();
    await plant(gate, 3);
    const sql = `INSERT INTO actions (project_id, id, number, seq, root, session_id, agent, tool,
        status, execution, decision, risk, reversible, digest, created_at, decided_by)
      SELECT project_id, 'far', ?1, ?1, root, session_id, agent, tool, status, execution, decision,
        risk, reversible, digest, created_at, decided_by FROM actions WHERE number = 1`;
    await gate.project.ledger.commit({ statements: [{ sql, args: [FAR] }], events: [] });
    expect(await seqs(gate, `decided_by=policy&order=${order}`)).toEqual(wanted);
  },
);

test("a list goes on in its order: the oldest first, or by a column and then the newest", async () => {
  const gate = await createTestGate();
  const rows = await plant(gate, 900);
  const filters: [string, (row: Planted) => boolean][] = [
    ["", () => true],
    ["status=blocked", ({ status }) => status === "blocked"],
    ["tool=run_command&risk=low", ({ tool, risk }) => tool === "run_command" && risk === "low"],
    ["q=part3", ({ path }) => path.includes("part3/")],
    ["q=src/part3%20allowed", ({ path }) => path.includes("part3/")],
    ["q=part3&agent=codex", ({ path, agent }) => path.includes("part3/") && agent === "codex"],
    ["q=nowhere", () => false],
  ];
  for (const [query, one] of filters) {
    const wanted = rows.filter(one);
    const newest = wanted.toReversed();
    const by = (values: string[], name: "status" | "risk") =>
      newest.toSorted((a, b) => values.indexOf(a[name]) - values.indexOf(b[name]));
    const orders: Record<string, Planted[]> = {
      newest,
      oldest: wanted,
      status: by(STATUSES, "status"),
      risk: by(RISKS, "risk"),
      execution: newest,
    };
    for (const [order, sorted] of Object.entries(orders)) {
      for (const limit of ["limit=500", "limit=77"]) {
        const found = await seqs(gate, `${query}&order=${order}&${limit}`);
        expect(found, `${query} ${order}`).toEqual(sorted.map(({ seq }) => seq));
      }
    }
  }
});

test("a cursor of another order is refused", async () => {
  const gate = await createTestGate();
  for (const cursor of ["12", "low", "lower.12", "low.x", ".", "low.0"]) {
    const answer = await gate.request("GET", `/api/actions?order=risk&cursor=${cursor}`);
    expect(answer.status, cursor).toBe(400);
  }
  const answer = await gate.request("GET", "/api/global/actions?order=risk&cursor=low.12");
  expect(answer.status).toBe(400);
});

test("a search finds words in paths, commands and reasons, also after these change", async () => {
  const gate = await createTestGate({
    policies: {
      defaultEffect: "ask",
      askCommands: [{ pattern: "make", reason: "Builds are looked at" }],
      blockedCommands: [{ pattern: "terraform", reason: "Costs money" }],
    },
  });
  const ask = async (path: string, body: unknown) =>
    await (await gate.request("POST", path, body)).json();
  const submit = (command: string) =>
    ask("/api/actions", { tool: "run_command", input: { command } });
  const blocked = await submit("terraform apply");
  const held = await submit("make deploy");
  const find = async (q: string) => {
    const answer = await gate.request("GET", `/api/actions?q=${encodeURIComponent(q)}`);
    return ActionList.parse(await answer.json()).items.map(({ id }) => id);
  };
  expect(await find("costs MONEY")).toEqual([blocked.id]);
  expect(await find("deploy")).toEqual([held.id]);
  await ask(`/api/actions/${held.id}/approve-with-edit`, {
    command: "make",
    reason: "Friday afternoon",
  });
  expect(await find("deploy")).toEqual([]);
  expect(await find("make friday")).toEqual([held.id]);
});

test.each([
  '"',
  "*",
  "a*",
  "NOT",
  "AND OR",
  "path:",
  "^a",
  "a NEAR b",
  "(",
  "{a}:b",
  "-x",
  "'",
  "",
  "\0",
])(
  "q=%j is a valid search",
  async (q) => {
    const gate = await createTestGate();
    await plant(gate, 5);
    const answer = await gate.request("GET", `/api/actions?q=${encodeURIComponent(q)}`);
    expect(answer.status).toBe(200);
    expect(ActionList.parse({ ...await answer.json(), items: [] })).toBeTruthy();
    const everywhere = await gate.request("GET", `/api/global/actions?q=${encodeURIComponent(q)}`);
    expect(everywhere.status).toBe(200);
  },
);

test("no query of a list scans a table or sorts", async () => {
  const gate = await createTestGate();
  await plant(gate, 100);
  const plans: string[] = [];
  const { ledger } = gate.project;
  const spy: Pick<Ledger, "project_id" | "all" | "caughtUp"> = {
    project_id: ledger.project_id,
    caughtUp: (sql, read) => ledger.caughtUp(sql, read),
    async all(sql, args) {
      const rows = await ledger.all(`EXPLAIN QUERY PLAN ${sql}`, args);
      plans.push(...rows.map(({ detail }) => `${detail}  ← ${sql}`));
      return await ledger.all(sql, args);
    },
  };
  const watched = spy as Ledger;
  const fields = {
    status: "blocked",
    tool: "t",
    agent: "a",
    path: "p",
    execution: "none",
  } as const;
  const all = {
    ...fields,
    session_id: "s",
    decided_by: "policy",
    risk: "low",
    q: "two words",
  } as const;
  const single = Object.entries(all).map(([name, value]) => ({ [name]: value }));
  const spans = [{ from: "2026-01-01T00:00:00Z" }, { to: "2027-01-01T00:00:00Z", q: "src" }];
  const rare = { session_id: "s", q: "src" };
  for (const query of [{}, ...single, fields, all, rare, ...spans, { ...fields, cursor: "50" }]) {
    for (const order of [undefined, "oldest", "risk", "status", "execution"] as const) {
      const cursor = order === undefined || order === "oldest" ? {} : { cursor: undefined };
      await listActions(watched, { ...query, ...cursor, order } as ActionQuery, 50);
    }
  }
  const page = { before: 1_000, limit: 51, idle_at: "2026" };
  const states = (["open", "idle", "ended"] as const).map((state) => ({ state }));
  const sessions = [{}, { agent: "a" }, { host: "h" }, { client: "c" }, { agent: "a", host: "h" }];
  for (const query of [...sessions, ...states]) await listSessions(watched, query, page);
  await summarizeActions(watched, "s");
  const begin = { after: { at: "", seq: 0 }, last: 100, limit: 10 };
  const events = [{}, { from: "2026" }, { to: "2026" }, { type: "action.started" as const }];
  for (const filter of [...events, { session_id: "s" }, { action_id: "a" }]) {
    await listFiltered(watched, filter, begin);
    await readCsvPage(watched, filter, begin);
  }
  await listStored(watched, 0, 10);
  const days = { after: "2026-01-01", until: "~", limit: 10 };
  await listCounts(watched, "hour", days);
  await listLatencies(watched, days);
  expect(plans.length).toBeGreaterThan(30);
  const tables = plans.filter((plan) => !/^SCAN actions_words VIRTUAL TABLE INDEX \S*M/.test(plan));
  expect(tables.filter((plan) => /^SCAN (?!\(subquery|CONSTANT|few )|TEMP B-TREE/.test(plan)))
    .toEqual(
      [],
    );
});
