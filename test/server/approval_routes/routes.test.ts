import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createTestGate, testCaller, type TestGate } from "../../helpers.ts";

// deno-lint-ignore no-explicit-any
type Body = any;

async function ask(gate: TestGate, method: string, path: string, body?: unknown, id = "reviewer") {
  const response = await gate.request(method, path, body, testCaller("reviewer", id));
  return { status: response.status, body: await response.json() as Body };
}

/** A gate with the members ann, ben and cy (reviewers) and vic (viewer). */
async function withTeam(policies?: Parameters<typeof createTestGate>[0]): Promise<TestGate> {
  const gate = await createTestGate(policies);
  for (const name of ["Ann", "Ben", "Cy"]) await ask(gate, "POST", "/api/team/members", { name });
  await ask(gate, "POST", "/api/team/members", { name: "Vic", role: "viewer" });
  return gate;
}

const PROD = {
  name: "Production",
  match: { paths: ["deploy/**"] },
  approvers: { members: ["ann", "ben"] },
  quorum: 2,
};

const routesIn = (gate: TestGate) =>
  JSON.parse(readFileSync(join(gate.home, "approval_routes.json"), "utf8")).routes;

test("a route is added, listed, changed and removed, each time with an event", async () => {
  const gate = await withTeam();
  const added = await ask(gate, "POST", "/api/approval-routes", PROD);
  const route = {
    id: "production",
    name: "Production",
    match: {
      paths: ["deploy/**"],
      commands: [],
      tools: [],
      agents: [],
      hosts: [],
      projects: [],
      min_risk: null,
    },
    approvers: { members: ["ann", "ben"], role: null },
    quorum: 2,
    ordered: false,
    edit_needs_other: false,
    remind_at: [0.5, 0.9],
    escalate_after_seconds: null,
    escalate_to: [],
    expires_after_seconds: null,
  };
  expect(added).toEqual({ status: 201, body: route });
  expect((await ask(gate, "GET", "/api/approval-routes")).body)
    .toEqual({ items: [route], problem: null, waiting: null });
  const change = { escalate_after_seconds: 60, escalate_to: ["cy"], expires_after_seconds: 600 };
  expect(await ask(gate, "PATCH", "/api/approval-routes/production", change))
    .toEqual({ status: 200, body: { ...route, ...change } });
  expect(routesIn(gate)).toEqual([{ ...route, ...change }]);
  await gate.reopen();
  expect((await ask(gate, "DELETE", "/api/approval-routes/production")).status).toBe(200);
  expect((await ask(gate, "GET", "/api/approval-routes")).body.items).toEqual([]);
  const events = (await gate.audit()).filter(({ type }) => type.startsWith("route."));
  expect(events.map(({ type, data }) => [type, data.route_id, data.quorum])).toEqual([
    ["route.added", "production", 2],
    ["route.changed", "production", 2],
    ["route.removed", "production", 2],
  ]);
});

describe("bad input changes nothing", () => {
  test.each<[string, string, unknown, number, string]>([
    ["POST", "", {}, 400, "name"],
    ["POST", "", { name: "X" }, 400, "approvers"],
    ["POST", "", { name: "X", approvers: {} }, 400, "it has no approvers"],
    ["POST", "", { name: "X", approvers: { members: ["eve"] } }, 400, '"eve" is no member'],
    ["POST", "", { name: "X", approvers: { members: ["vic"] } }, 400, '"vic" may only read'],
    ["POST", "", { name: "X", approvers: { role: "viewer" } }, 400, "role"],
    ["POST", "", { ...PROD, id: "x", quorum: 0 }, 400, "quorum"],
    ["POST", "", { ...PROD, id: "x", quorum: 3 }, 400, "it has only 2 approvers"],
    ["POST", "", { ...PROD, id: "x", match: { path: ["a"] } }, 400, "path"],
    ["POST", "", { ...PROD, id: "x", match: { paths: ["a\u0000["] } }, 400, "Cannot"],
    [
      "POST",
      "",
      { ...PROD, id: "x", ordered: true, approvers: { role: "admin" }, quorum: 1 },
      400,
      "only members have an order",
    ],
    ["POST", "", { ...PROD, id: "x", escalate_after_seconds: 5 }, 400, "belong together"],
    ["POST", "", { ...PROD, id: "x", escalate_to: ["cy"] }, 400, "belong together"],
    [
      "POST",
      "",
      {
        ...PROD,
        id: "x",
        escalate_after_seconds: 60,
        escalate_to: ["cy"],
        expires_after_seconds: 60,
      },
      400,
      "expire before it escalates",
    ],
    ["POST", "", { ...PROD, id: "x", remind_at: [1] }, 400, "remind_at"],
    ["POST", "", PROD, 409, "the id is taken"],
    ["PATCH", "/production", {}, 400, "at least one field"],
    ["PATCH", "/production", { quorum: 9 }, 400, "it has only 2 approvers"],
    ["PATCH", "/none", { quorum: 1 }, 404, "gate route list"],
    ["DELETE", "/none", undefined, 404, "gate route list"],
    ["POST", "/test", {}, 400, "needs a path"],
    ["POST", "/test", { path: "a", risk: "huge" }, 400, "risk"],
    ["POST", "/accept", { items_sha256: "0".repeat(64), number: 1, x: 1 }, 400, "x"],
    ["POST", "/accept", { items_sha256: "0", number: 1 }, 400, "items_sha256"],
    ["POST", "/accept", { items_sha256: "0".repeat(64), number: 1 }, 409, "have seen"],
  ])("%s %s %j", async (method, path, body, status, part) => {
    const gate = await withTeam();
    await ask(gate, "POST", "/api/approval-routes", PROD);
    const before = routesIn(gate);
    const answer = await ask(gate, method, `/api/approval-routes${path}`, body);
    expect([answer.status, answer.body.detail]).toEqual([status, expect.stringContaining(part)]);
    expect(routesIn(gate)).toEqual(before);
  });
});

test("only an admin changes a route", async () => {
  const gate = await withTeam();
  const refused = await ask(gate, "POST", "/api/approval-routes", PROD, "ann");
  expect([refused.status, refused.body.detail])
    .toEqual([403, expect.stringContaining("your role is reviewer")]);
});

test("a member whom a route needs cannot be removed or made a viewer", async () => {
  const gate = await withTeam();
  await ask(gate, "POST", "/api/approval-routes", PROD);
  const everybody = { name: "All", approvers: { role: "reviewer" }, quorum: 4 };
  await ask(gate, "POST", "/api/approval-routes", everybody);
  const removed = await ask(gate, "DELETE", "/api/team/members/ann");
  expect([removed.status, removed.body.detail])
    .toEqual([409, expect.stringContaining('route "production" names them')]);
  const demoted = await ask(gate, "PATCH", "/api/team/members/cy", { role: "viewer" });
  expect([demoted.status, demoted.body.detail])
    .toEqual([409, expect.stringContaining('route "all" needs 4 approvers')]);
});

describe("the route that an action would take", () => {
  const route = (id: string, more: Record<string, unknown>) => ({
    id,
    name: id,
    approvers: { role: "reviewer" },
    ...more,
  });
  const ROUTES = [
    route("paths", { match: { paths: ["deploy/**"] }, quorum: 2 }),
    route("commands", { match: { commands: ["terraform apply"] }, quorum: 2 }),
    route("tools", { match: { tools: ["mcp__github__*"] } }),
    route("codex", { match: { agents: ["codex*"], paths: ["src/**"] } }),
    route("cursor", { match: { hosts: ["cursor"] }, quorum: 3 }),
    route("risky", { match: { min_risk: "high" }, quorum: 4 }),
    route("elsewhere", { match: { projects: ["shop-*"] }, quorum: 4 }),
  ];

  test.each<[Record<string, unknown>, string | null, string]>([
    [{ path: "deploy/prod.yaml" }, "paths", 'the path matches "deploy/**"'],
    [{ path: "deploy/prod.yaml", action: "delete" }, "paths", "deploy/**"],
    [{ command: "terraform apply -auto-approve" }, "commands", 'matches "terraform apply"'],
    [{ command: "cd infra && terraform  'apply'" }, "commands", "terraform apply"],
    [{ command: "echo x > deploy/a.txt" }, "paths", 'the path matches "deploy/**"'],
    [{ command: "echo terraform apply" }, null, "no approval route matches"],
    [{ action: "mcp__github__merge", input: {} }, "tools", 'the tool matches "mcp__github__*"'],
    [{ path: "src/a.ts" }, null, "no approval route matches"],
    [{ path: "src/a.ts", agent: "codex-cli" }, "codex", 'the agent matches "codex*"'],
    [{ path: "src/a.ts", agent: "claude" }, null, "no approval route matches"],
    [{ path: "README.md", host: "cursor" }, "cursor", 'the host matches "cursor"'],
    [{ path: "deploy/a", host: "cursor" }, "cursor", "cursor"],
    [{ path: "deploy/a", host: "cursor", risk: "critical" }, "risky", "the risk is critical"],
    [{ path: "deploy/a", risk: "medium" }, "paths", "deploy/**"],
  ])("%j takes %s", async (question, id, part) => {
    const gate = await withTeam({ policies: { defaultEffect: "ask" } });
    for (const one of ROUTES) {
      expect((await ask(gate, "POST", "/api/approval-routes", one)).status).toBe(201);
    }
    const { status, body } = await ask(gate, "POST", "/api/approval-routes/test", question);
    expect([status, body.route?.id ?? null, body.why])
      .toEqual([200, id, expect.stringContaining(part)]);
    expect(body.considered.length).toBe(ROUTES.length);
    expect(body.asked).toEqual(id === null ? [] : ["reviewer", "ann", "ben", "cy"]);
    expect(body.effect).toBe("ask");
  });
});

describe("approval_routes.json edited by hand", () => {
  test("is in force at once where no key is enrolled; a broken one keeps the last routes", async () => {
    const gate = await withTeam();
    const path = join(gate.home, "approval_routes.json");
    writeFileSync(path, JSON.stringify({ routes: [{ id: "p", ...PROD, owner: "ops" }] }));
    expect((await ask(gate, "GET", "/api/approval-routes")).body.items)
      .toMatchObject([{ id: "p", quorum: 2 }]);
    await ask(gate, "PATCH", "/api/approval-routes/p", { quorum: 1 });
    expect(routesIn(gate)).toMatchObject([{ owner: "ops", quorum: 1 }]);
    writeFileSync(path, '{ "routes": [{ "id": "p" }] }');
    const { body } = await ask(gate, "GET", "/api/approval-routes");
    expect(body.items).toMatchObject([{ id: "p", quorum: 1 }]);
    expect(body.problem).toContain("routes.0.name");
    expect((await ask(gate, "DELETE", "/api/approval-routes/p")).status).toBe(409);
  });
});
