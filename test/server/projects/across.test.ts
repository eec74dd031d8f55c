import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Action } from "../../../server/actions/schema.ts";
import { createTestGate, testCaller, type TestGate } from "../../helpers.ts";

const PERSON = { id: "reviewer", scope: "reviewer" } as const;

const agent = testCaller("agent");

async function gateWith(projects: string[], defaultEffect: "ask" | "allow"): Promise<TestGate> {
  const gate = await createTestGate({ policies: { defaultEffect } });
  for (const id of projects) {
    const root = join(gate.root, "..", id);
    mkdirSync(root);
    const config = JSON.stringify({ id, policies: { defaultEffect } });
    writeFileSync(join(root, "gate.config.json"), config);
    await gate.daemon.projects.register(root, PERSON);
  }
  return gate;
}

/** Submits a write in that project, one millisecond after whatever was before. */
async function submit(gate: TestGate, id: string, n: number): Promise<Action> {
  gate.clock.advance(1);
  const project = await gate.daemon.projects.get(id);
  const input = { path: `file-${n}.txt`, content: `${n}` };
  return (await project.actions.submit({ tool: "write_file", input }, agent)).action;
}

const IDS = ["test", "one", "two"];

async function submitMany(gate: TestGate, count: number): Promise<string[]> {
  const newest: string[] = [];
  for (let n = 0; n < count; n++) {
    newest.unshift((await submit(gate, IDS[n % IDS.length]!, n)).id);
  }
  return newest;
}

test("what is held in any project is in one list, newest first, and counted per project", async () => {
  const gate = await gateWith(["one", "two"], "ask");
  const newest = await submitMany(gate, 7);
  expect((await gate.daemon.listPending()).map(({ id }) => id)).toEqual(newest);
  const counts = (await gate.daemon.projects.list()).map(({ id, pending_count }) => [
    id,
    pending_count,
  ]);
  expect(counts).toEqual([["one", 2], ["test", 3], ["two", 2]]);
});

test("what is held survives a restart without anybody asking for its project", async () => {
  const gate = await gateWith(["one", "two"], "ask");
  const newest = await submitMany(gate, 4);
  await gate.reopen();
  expect((await gate.daemon.listPending()).map(({ id }) => id)).toEqual(newest);
});

test("actions of all projects are paged newest first, none twice, none left out", async () => {
  const gate = await gateWith(["one", "two"], "allow");
  const newest = await submitMany(gate, 23);
  for (const limit of [1, 5, 22, 23, 500]) {
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await gate.daemon.listActions({ limit, cursor });
      seen.push(...page.items.map(({ id }) => id));
      cursor = page.next_cursor ?? undefined;
    } while (cursor);
    expect(seen).toEqual(newest);
  }
  for (const order of ["oldest", "risk"] as const) {
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await gate.daemon.listActions({ limit: 5, cursor, order });
      seen.push(...page.items.map(({ id }) => id));
      cursor = page.next_cursor ?? undefined;
    } while (cursor);
    expect(seen).toEqual(order === "oldest" ? newest.toReversed() : newest);
  }
  const one = await gate.daemon.listActions({ status: "approved", path: "file-1.txt" });
  expect(one.items.map(({ project_id }) => project_id)).toEqual(["one"]);
});

test("what was submitted a moment ago is in the list at once", async () => {
  const gate = await gateWith(["one"], "allow");
  for (let n = 0; n < 20; n++) {
    const { id } = await submit(gate, n % 2 ? "one" : "test", n);
    expect((await gate.daemon.listActions({ limit: 1 })).items.map((item) => item.id))
      .toEqual([id]);
  }
});

test("an action is found and decided on without naming its project", async () => {
  const gate = await gateWith(["one"], "ask");
  const { id } = await submit(gate, "one", 1);
  expect((await gate.daemon.projects.ofAction(id)).id).toBe("one");
  const answer = await gate.request("POST", `/api/global/approvals/${id}/approve`, {});
  expect(answer.status).toBe(200);
  expect(await answer.json()).toMatchObject({ id, status: "approved", project_id: "one" });
  expect(await gate.daemon.listPending()).toEqual([]);
});

test.each(["x", "1", "00000000-0000-7000-8000-00000000000", "%00"])(
  "a cursor that no page gave is refused: %s",
  async (cursor) => {
    const gate = await createTestGate();
    const response = await gate.request("GET", `/api/global/actions?cursor=${cursor}`);
    expect(response.status).toBe(400);
  },
);

test("a list of one project holds that project's actions, and of an unknown one nothing is told", async () => {
  const gate = await gateWith(["one", "two"], "allow");
  await submitMany(gate, 6);
  const { items, next_cursor } = await gate.daemon.listActions({ project: "one", limit: 1 });
  expect(items.map(({ project_id }) => project_id)).toEqual(["one"]);
  const rest = await gate.daemon.listActions({ project: "one", cursor: next_cursor! });
  expect(rest.items.map(({ project_id }) => project_id)).toEqual(["one"]);
  await expect(gate.daemon.listActions({ project: "none" })).rejects.toThrow(
    'Cannot find project "none"',
  );
});
