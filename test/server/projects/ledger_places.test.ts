import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { listEvents } from "../../../server/audit/store.ts";
import { Daemon } from "../../../server/daemon.ts";
import { createTestGate, testCaller, type TestGate } from "../../helpers.ts";
import { createTempFolder } from "../../temp_folder.ts";
import { startSqlServer } from "../db/sqld.ts";

const agent = testCaller("agent");

async function stage() {
  const server = await startSqlServer(createTempFolder("sqld"));
  const gate = await createTestGate({
    policies: { defaultEffect: "allow", askPaths: [{ pattern: "held/**" }] },
    storage: { url: server.url },
  });
  return { server, gate };
}

const send = (gate: TestGate, project: string, path: string, content: string) =>
  gate.request("POST", `/api/actions?project=${project}`, {
    tool: "write_file",
    input: { path, content },
  }, agent);

/** Waits until the gate has opened the ledger again by itself. */
const isBack = (gate: TestGate) =>
  vi.waitFor(async () => {
    const { ledgers } = await (await gate.request("GET", "/api/hub/storage")).json();
    const problem = ledgers.find((one: { project_id: string }) =>
      one.project_id === "test"
    ).problem;
    expect(problem).toBe(null);
  }, { timeout: 120_000, interval: 100 });

function addLocal(gate: TestGate) {
  const root = createTempFolder("local");
  const config = { id: "local", policies: { defaultEffect: "allow" } };
  writeFileSync(join(root, "gate.config.json"), JSON.stringify(config));
  return gate.daemon.projects.register(root, testCaller("reviewer"));
}

test("while the server is away its project answers 503, other projects go on, and it opens again", async () => {
  const { gate, server } = await stage();
  const local = await addLocal(gate);
  await gate.request("PUT", "/api/hub/projects/test/server");
  const held = await (await send(gate, "test", "held/a.txt", "a")).json();

  await server.kill();
  const refused = await send(gate, "test", "b.txt", "b");
  expect(refused.status).toBe(503);
  const problem = await refused.json();
  expect(problem).toMatchObject({ code: "unavailable", server: "away" });
  expect(problem.detail).toMatch(/does not answer.*by itself/);
  expect(existsSync(join(gate.root, "b.txt"))).toBe(false);
  expect((await gate.request("POST", `/api/actions/${held.id}/approve?project=test`, {})).status)
    .toBe(503);

  expect((await send(gate, "local", "c.txt", "c")).status).toBe(201);
  expect(readFileSync(join(local.roots[0]!, "c.txt"), "utf8")).toBe("c");
  const status = await (await gate.request("GET", "/api/daemon/status")).json();
  expect(status).toMatchObject({ healthy: false });
  expect(status.problems.join()).toContain("does not answer");
  expect((await gate.request("GET", "/api/global/approvals/pending")).status).toBe(200);
  expect((await gate.request("GET", "/api/hub/projects")).status).toBe(200);

  // A daemon that starts meanwhile serves the others.
  await gate.daemon.close();
  const daemon = await Daemon.open(gate.environment, { port: 47999 });
  const { actions } = await daemon.projects.get("local");
  const write = { tool: "write_file", input: { path: "d.txt", content: "d" } };
  expect((await actions.submit(write, agent)).action.execution).toBe("succeeded");
  await expect(daemon.projects.get("test")).rejects.toMatchObject({ code: "unavailable" });
  await daemon.close();

  await server.start();
  await gate.open();
  await isBack(gate);
  const approved = await gate.request("POST", `/api/actions/${held.id}/approve?project=test`, {});
  expect(await approved.json()).toMatchObject({ execution: "succeeded" });
  expect(readFileSync(join(gate.root, "held/a.txt"), "utf8")).toBe("a");
});

test("200 actions with the server killed and restarted: record, file and chain agree", async () => {
  const { gate, server } = await stage();
  await gate.request("PUT", "/api/hub/projects/test/server");
  mkdirSync(join(gate.root, "out"));
  const real = globalThis.fetch;
  // The request number at which the server dies: early and late in the commits of an action.
  let until = Infinity;
  vi.spyOn(globalThis, "fetch").mockImplementation(async (...args) => {
    const isLast = --until === 0;
    const answer = real(...args);
    if (isLast) {
      // The answer of a commit that may or may not have come through is lost.
      await Promise.race([answer.catch(() => {}), Promise.resolve()]);
      await server.kill();
    }
    return await answer;
  });
  const acknowledged = new Set<string>();
  let kills = 0;
  for (let n = 0; n < 200; n++) {
    if (n % 25 === 7) {
      until = 1 + (kills++ * 3) % 14;
    }
    const answer = await send(gate, "test", `out/${n}.txt`, `content ${n}`);
    if (answer.status === 201) {
      acknowledged.add(`${n}`);
      continue;
    }
    expect(answer.status).toBe(503);
    until = Infinity;
    await server.start();
    await isBack(gate);
  }
  vi.restoreAllMocks();
  expect(kills).toBe(8);
  expect(acknowledged.size).toBeGreaterThanOrEqual(190);

  const project = await gate.daemon.projects.get("test");
  expect(await project.audit.verify()).toMatchObject({ ok: true });
  const { items } = await project.actions.list({ limit: 500 });
  const byPath = new Map(items.map((one) => [one.path!, one]));
  expect(byPath.size).toBe(items.length);
  for (let n = 0; n < 200; n++) {
    const file = join(gate.root, "out", `${n}.txt`);
    const action = byPath.get(`out/${n}.txt`);
    if (acknowledged.has(`${n}`)) expect(action?.execution).toBe("succeeded");
    const isDone = action?.execution === "succeeded";
    expect(existsSync(file)).toBe(isDone);
    if (isDone) expect(readFileSync(file, "utf8")).toBe(`content ${n}`);
    else if (action) expect(action.execution).toBe("failed");
  }
  // Every event was published, those too whose commit was cut off from its answer.
  const events = await listEvents(project.ledger, 0, 100_000);
  const published = new Set(
    gate.events.filter(({ project_id }) => project_id === "test")
      .map(({ seq }) => seq),
  );
  const finished = events.filter(({ type }) => type === "action.finished");
  expect(finished.filter(({ seq }) => !published.has(seq))).toEqual([]);
  const status = await (await gate.request("GET", "/api/daemon/status")).json();
  expect(status.problems).toEqual([]);
}, 600_000);
