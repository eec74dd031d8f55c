import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createTestGate, testCaller, type TestGate } from "../../helpers.ts";

const PERSON = { id: "reviewer", scope: "reviewer" } as const;

const agent = testCaller("agent");

/** A folder beside the project of the gate, with a config of its own. */
function makeProject(gate: TestGate, id: string): string {
  const root = join(gate.root, "..", id);
  mkdirSync(root);
  writeFileSync(join(root, "gate.config.json"), JSON.stringify({ id }));
  return root;
}

async function ask(gate: TestGate, method: string, path: string, body?: unknown) {
  const response = await gate.request(method, path, body);
  // deno-lint-ignore no-explicit-any
  return { status: response.status, body: await response.json() as any };
}

async function shop(gate: TestGate, ...ids: string[]): Promise<void> {
  await gate.daemon.workspaces.create({ id: "shop", name: "Web shop" });
  for (const id of ids) {
    await gate.daemon.workspaces.addProject("shop", makeProject(gate, id), PERSON);
  }
}

test("a workspace is made, filled, shown, emptied and forgotten; its projects stay", async () => {
  const gate = await createTestGate();
  const [one, two] = [makeProject(gate, "one"), makeProject(gate, "two")];
  const made = await ask(gate, "POST", "/api/workspaces", { id: "shop", name: "Web shop" });
  expect(made).toEqual({
    status: 201,
    body: {
      id: "shop",
      name: "Web shop",
      created_at: "2026-01-01T00:00:00.000Z",
      project_ids: [],
    },
  });
  await ask(gate, "POST", "/api/workspaces/shop/projects", { root: two });
  const filled = await ask(gate, "POST", "/api/workspaces/shop/projects", { root: one });
  expect(filled).toMatchObject({ status: 201, body: { project_ids: ["two", "one"] } });
  const again = await ask(gate, "POST", "/api/workspaces/shop/projects", { root: one });
  expect(again.body).toEqual(filled.body);
  expect((await ask(gate, "GET", "/api/workspaces")).body).toEqual({ items: [filled.body] });
  expect((await ask(gate, "GET", "/api/hub/projects")).body.items).toMatchObject([
    { id: "one", workspace_ids: ["shop"] },
    { id: "test", workspace_ids: [] },
    { id: "two", workspace_ids: ["shop"] },
  ]);
  const less = await ask(gate, "DELETE", "/api/workspaces/shop/projects/two");
  expect(less).toMatchObject({ status: 200, body: { project_ids: ["one"] } });
  expect(await ask(gate, "DELETE", "/api/workspaces/shop"))
    .toEqual({ status: 200, body: { id: "shop" } });
  expect(await ask(gate, "GET", "/api/workspaces/shop")).toMatchObject({ status: 404 });
  expect(await gate.daemon.projects.list()).toHaveLength(3);
});

test.each([
  ["POST", "/api/workspaces", { id: "shop", name: "again" }, 409, "it exists already"],
  ["POST", "/api/workspaces", { id: "../x", name: "x" }, 400, "/id"],
  ["POST", "/api/workspaces", { id: "", name: "x" }, 400, "/id"],
  ["POST", "/api/workspaces", { id: "x".repeat(65), name: "x" }, 400, "/id"],
  ["POST", "/api/workspaces", { id: "x", name: "" }, 400, "/name"],
  ["POST", "/api/workspaces", { id: "x", name: "a\u202eb" }, 400, "/name"],
  ["POST", "/api/workspaces", { id: "x", name: "a\nb" }, 400, "/name"],
  ["POST", "/api/workspaces", { id: "x", name: "x", projects: [] }, 400, "projects"],
  ["POST", "/api/workspaces/none/projects", { root: "/tmp" }, 404, 'workspace "none"'],
  ["POST", "/api/workspaces/shop/projects", { root: "/nowhere" }, 404, "/nowhere"],
  ["POST", "/api/workspaces/shop/projects", {}, 400, "/root"],
  ["DELETE", "/api/workspaces/none", undefined, 404, 'workspace "none"'],
  ["DELETE", "/api/workspaces/shop/projects/test", undefined, 404, "it is not in workspace"],
  ["GET", "/api/workspaces/a%00b", undefined, 404, "Cannot find workspace"],
  ["GET", "/api/global/actions?workspace=none", undefined, 404, 'workspace "none"'],
  ["GET", "/api/global/actions?workspace=..%2f", undefined, 400, "/workspace"],
])("%s %s %j answers %i", async (method, path, body, status, detail) => {
  const gate = await createTestGate();
  await shop(gate);
  const answer = await ask(gate, method, path, body);
  expect(answer).toMatchObject({ status, body: { detail: expect.stringContaining(detail) } });
  expect(await gate.daemon.workspaces.list()).toMatchObject([{ id: "shop", project_ids: [] }]);
});

test("of twenty creations at once one wins", async () => {
  const gate = await createTestGate();
  const body = { id: "shop", name: "x" };
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => ask(gate, "POST", "/api/workspaces", body)),
  );
  const statuses = answers.map(({ status }) => status).sort();
  expect(statuses).toEqual([201, ...new Array(19).fill(409)]);
});

test("a forgotten project leaves its workspaces, and is in them again when it comes back", async () => {
  const gate = await createTestGate();
  await shop(gate, "one", "two");
  await gate.daemon.projects.remove("one", testCaller("reviewer"));
  expect(await gate.daemon.workspaces.get("shop")).toMatchObject({ project_ids: ["two"] });
  await gate.daemon.projects.register(join(gate.root, "..", "one"), PERSON);
  expect(await gate.daemon.workspaces.get("shop")).toMatchObject({ project_ids: ["one", "two"] });
});

test("workspaces outlive the daemon", async () => {
  const gate = await createTestGate();
  await shop(gate, "one");
  await gate.reopen();
  expect(await gate.daemon.workspaces.list()).toMatchObject([{ project_ids: ["one"] }]);
});

test("what goes over all projects can be narrowed to those of a workspace", async () => {
  const gate = await createTestGate({ policies: { defaultEffect: "ask" } });
  await shop(gate, "one", "two");
  for (const id of ["one", "test", "two"]) {
    gate.clock.advance(1);
    const { actions } = await gate.daemon.projects.get(id);
    await actions.submit({ tool: "write_file", input: { path: "a", content: id } }, agent);
  }
  const all = async (path: string) => {
    const { items } = (await ask(gate, "GET", `/api/global/${path}`)).body;
    return items.map(({ project_id }: { project_id: string }) => project_id);
  };
  expect(await all("approvals/pending")).toEqual(["two", "test", "one"]);
  expect(await all("approvals/pending?workspace=shop")).toEqual(["two", "one"]);
  const count = async (query: string) =>
    (await ask(gate, "GET", `/api/global/approvals/count${query}`)).body;
  expect([await count(""), await count("?workspace=shop")]).toEqual([{ count: 3 }, { count: 2 }]);
  expect(await all("actions?workspace=shop")).toEqual(["two", "one"]);
  expect(await all("actions?workspace=shop&limit=1")).toEqual(["two"]);
  const exported = await ask(gate, "GET", "/api/global/audit/export?workspace=shop");
  const projects = exported.body.events.map((event: { project_id: string }) => event.project_id);
  expect(new Set(projects)).toEqual(new Set(["one", "two"]));
  const summary = await ask(gate, "GET", "/api/global/analytics/summary?workspace=shop&window=1d");
  const whole = await ask(gate, "GET", "/api/global/analytics/summary?window=1d");
  const hours = (body: { busiest_hours: { count: number }[] }) =>
    body.busiest_hours.reduce((sum, { count }) => sum + count, 0);
  expect([hours(summary.body), hours(whole.body)]).toEqual([2, 3]);
});
