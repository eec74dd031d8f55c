import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Database } from "../../../server/db/database.ts";
import { createTestGate, type TestGate, type TestGateOptions } from "../../helpers.ts";
import { enrol, type Person, prove, type Send, sendTo, withPassphrase } from "../proof/person.ts";

const ORIGIN = "https://example.org/x.git";
const POLICIES = { defaultEffect: "allow" as const, blockedPaths: [".env"] };

/** Makes a checkout of the project's repository beside it, as an agent with a shell can. */
function checkout(gate: TestGate, name = "second"): string {
  const root = name === "" ? gate.root : join(gate.root, "..", name);
  mkdirSync(join(root, ".git"), { recursive: true });
  writeFileSync(join(root, ".git", "config"), `[remote "origin"]\n\turl = ${ORIGIN}\n`);
  const config = { id: "test", policies: POLICIES };
  if (name !== "") writeFileSync(join(root, "gate.config.json"), JSON.stringify(config));
  return root;
}

async function open(policies: TestGateOptions["policies"] = POLICIES) {
  const gate = await createTestGate({ proof: "none", policies });
  checkout(gate, "");
  const [send, person] = [sendTo(gate), withPassphrase()];
  return { gate, send, person };
}

const rootsOf = async (send: Send): Promise<string[]> => {
  const { items } = await (await send("GET", "/api/hub/projects")).json();
  return items.find(({ id }: { id: string }) => id === "test").roots;
};

/** A call of the host's own tool from that folder, as its hook sends it. */
async function hookList(gate: TestGate, cwd: string): Promise<void> {
  const answer = await gate.request("POST", "/api/hooks/claude-code", {
    hook_event_name: "PreToolUse",
    tool_name: "Bash",
    tool_input: { command: "ls -la" },
    session_id: cwd,
    cwd,
    tool_use_id: `t${gate.events.length}`,
  }, "agent");
  expect(answer.status).toBe(200);
}

async function addRoot(send: Send, person: Person, root: string): Promise<Response> {
  return await prove(send, person, ["POST", "/api/hub/projects", { root }]);
}

test("a second folder of a project waits for a person's proof", async () => {
  const { gate, send, person } = await open();
  expect((await enrol(send, person)).status).toBe(200);
  const second = checkout(gate);
  for (const scope of ["agent", "reviewer"] as const) {
    const answer = await gate.request("POST", "/api/hub/projects", { root: second }, scope);
    expect(answer.status).toBe(403);
    const problem = await answer.json();
    expect(problem.code).toBe("proof_required");
    expect(problem.challenge?.verb).toBe(scope === "reviewer" ? "register_project" : undefined);
  }
  expect(await rootsOf(send)).toEqual([gate.root]);
  expect((await addRoot(send, person, second)).status).toBe(201);
  for (let round = 0; round < 2; round++) {
    expect(await rootsOf(send)).toEqual([gate.root, second]);
    expect(gate.project.roots).toEqual([gate.root, second]);
    await gate.reopen();
  }
  // Registering it again, or a folder of its own, asks for nothing.
  expect((await send("POST", "/api/hub/projects", { root: second })).status).toBe(201);
  expect(await gate.project.audit.verify()).toMatchObject({ ok: true, problem: null });
  const event = (await gate.audit()).find(({ data }) => data.source === "root");
  expect(event).toMatchObject({
    type: "policy.changed",
    actor: { kind: "reviewer" },
    data: { asked: { project_id: "test", root: second }, proof: { kind: "passphrase" } },
  });
});

test("a workspace adds no folder without the proof either", async () => {
  const { gate, send, person } = await open();
  expect((await enrol(send, person)).status).toBe(200);
  const { id } = await (await send("POST", "/api/workspaces", { id: "shop", name: "Shop" })).json();
  const body = { root: checkout(gate) };
  const path = `/api/workspaces/${id}/projects`;
  expect((await send("POST", path, body)).status).toBe(403);
  expect(await rootsOf(send)).toEqual([gate.root]);
  expect((await prove(send, person, ["POST", path, body])).status).toBe(201);
  expect(await rootsOf(send)).toHaveLength(2);
});

test("until then a hook's calls in the folder are judged by the machine's policy", async () => {
  const { gate, send, person } = await open();
  expect((await enrol(send, person)).status).toBe(200);
  const second = checkout(gate);
  const before = (await gate.audit()).length;
  await hookList(gate, second);
  expect((await gate.audit()).length).toBe(before);
  const machine = await gate.daemon.projects.get("machine");
  const { items: [action] } = await machine.actions.list({});
  expect(action).toMatchObject({ command: "ls -la", cwd: second });
  const question = { path: join(second, "a.txt"), action: "write" };
  const judged = await send("POST", "/api/policy/test?project=machine", question);
  expect(await judged.json()).toMatchObject({ effect: "ask" });
  expect((await addRoot(send, person, second)).status).toBe(201);
  const own = await send("POST", "/api/policy/test?project=test", question);
  expect(await own.json()).toMatchObject({ effect: "allow" });
});

test.each<[string, (root: string) => [string, string[]]]>([
  [
    "a row",
    (root) => ["INSERT INTO roots (project_id, root, added_at) VALUES ('test', ?, '2026')", [root]],
  ],
  [
    "the first row",
    (root) => [
      "INSERT INTO roots (rowid, project_id, root, added_at) VALUES (-5, 'test', ?, '2026')",
      [root],
    ],
  ],
  [
    "the proof of another folder",
    (root) => [
      `INSERT INTO roots (project_id, root, added_at, proof) SELECT 'test', ?, '2026',
        (SELECT proof FROM roots WHERE proof IS NOT NULL)`,
      [root],
    ],
  ],
  [
    "text that is no proof",
    (root) => [
      "INSERT INTO roots (project_id, root, added_at, proof) VALUES ('test', ?, '2026', '{')",
      [root],
    ],
  ],
])("a folder that a program adds to gate.db with %s does not count", async (_, sqlOf) => {
  const { gate, send, person } = await open();
  expect((await enrol(send, person)).status).toBe(200);
  const [second, third] = [checkout(gate), checkout(gate, "third")];
  expect((await addRoot(send, person, second)).status).toBe(201);
  await gate.daemon.close();
  const database = await Database.open(join(gate.home, "gate.db"));
  const [sql, args] = sqlOf(third);
  await database.batch([{ sql, args }]);
  await database.close();
  await gate.open();
  for (let round = 0; round < 2; round++) {
    expect(await rootsOf(send)).toEqual([gate.root, second]);
    expect(gate.project.roots).toEqual([gate.root, second]);
    await hookList(gate, third);
    const { items } = await gate.project.actions.list({});
    expect(items).toEqual([]);
    // A change of the proof seals what counts, and nothing else.
    if (round === 0) expect((await enrol(send, withPassphrase(), person)).status).toBe(200);
    await gate.reopen();
  }
});

test("folders from before the enrolment stay", async () => {
  const { gate, send, person } = await open();
  const second = checkout(gate);
  // Without a key nobody can prove anything, and what is there is sealed with the first one.
  expect((await send("POST", "/api/hub/projects", { root: second })).status).toBe(201);
  expect((await enrol(send, person)).status).toBe(200);
  await gate.reopen();
  expect(await rootsOf(send)).toEqual([gate.root, second]);
});

test("where the reviewer's token decides, a folder is added at once", async () => {
  const gate = await createTestGate({ policies: POLICIES });
  checkout(gate, "");
  const send = sendTo(gate);
  const second = checkout(gate);
  expect((await send("POST", "/api/hub/projects", { root: second })).status).toBe(201);
  expect(await rootsOf(send)).toEqual([gate.root, second]);
});
