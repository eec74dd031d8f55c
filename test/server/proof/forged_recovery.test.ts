import { createHash } from "node:crypto";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createTestGate, testCaller, type TestGate } from "../../helpers.ts";
import { approve, forge, hold, open, type Stage } from "./forging.ts";
import { prove } from "./person.ts";

/** A daemon that crashes once at a step. */
function crashing() {
  const state = { at: "" };
  const fault = (step: string) => {
    if (step !== state.at) return Promise.resolve();
    state.at = "";
    throw new Error("crash");
  };
  return { state, fault };
}

/** An action that a crash left between the commit of its start and its end. */
async function crashed(
  stage: Stage,
  state: { at: string },
  { at = "intent", tool = "move_file", input = MOVE as Record<string, unknown> } = {},
): Promise<string> {
  const id = await hold(stage.gate, tool, input);
  state.at = at;
  await approve(stage, id);
  expect(await stage.gate.project.actions.get(id)).toMatchObject({ execution: "running" });
  return id;
}

const MOVE = { from: "a.txt", to: "sub/b.txt" };
const FILES = { "a.txt": "agreed\n", "victim.txt": "precious\n", "other/keep.txt": "kept\n" };

const text = ({ root }: TestGate, path: string) => readFileSync(join(root, path), "utf8");

/** The action failed, no file was touched, and the log says why. */
async function expectRefused({ gate }: Stage, id: string, why: string): Promise<void> {
  const action = await gate.project.actions.get(id);
  expect(action).toMatchObject({ status: "approved", execution: "failed" });
  expect(action.error).toContain(why);
  expect(text(gate, "victim.txt")).toBe("precious\n");
  expect(text(gate, "other/keep.txt")).toBe("kept\n");
  const last = (await gate.audit()).findLast(({ action_id }) => action_id === id);
  expect(last).toMatchObject({
    type: "action.finished",
    data: { execution: "failed", recovery_refused: expect.stringContaining(why) },
  });
  expect(gate.logs).toContainEqual(expect.objectContaining({
    level: "error",
    message: "a running action is not recovered: its ledger was changed",
  }));
  const [open] = await gate.project.ledger.all(
    "SELECT count(*) AS count FROM intents WHERE state = 'open'",
  );
  expect(open!.count).toBe(0);
}

const RUNNING = `UPDATE actions SET status = 'approved', decided_at = created_at,
  execution = 'running', claim_id = 'x', started_at = created_at`;
const ID = "00000000-0000-7000-8000-0000000000";

/** Two intents: one that seems done and whose old content is evil, one that is not done. */
function evilIntents(root: string, id: string): [string, string[]] {
  const row = (tail: string, path: string, before: string, after: string) =>
    `SELECT project_id, '${ID}${tail}', id, digest, '${root}/${path}', ${before}, ${after}, 'open',
      '{"mode":null,"before_mode":null,"temporary":".gate-${
      `${ID}${tail}`.replaceAll("-", "")
    }","new_folders":[]}', created_at, NULL FROM actions WHERE id = ?`;
  const hash = (path: string) => `'${sha(readFileSync(join(root, path)))}'`;
  const sql = `INSERT INTO intents (project_id, id, action_id, digest, path, before_sha256,
    after_sha256, state, data, created_at, settled_at)
    ${
    row(
      "01",
      "victim.txt",
      `(SELECT after_sha256 FROM actions WHERE id = '${id}')`,
      hash("victim.txt"),
    )
  }
    UNION ALL ${row("02", "other/keep.txt", hash("other/keep.txt"), hash("victim.txt"))}`;
  return [sql, [id, id]];
}

function sha(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

test.each<[string, string, string]>([
  ["a person", ", decided_by = 'reviewer'", "nobody approved it"],
  ["the policy, which asks", ", decided_by = 'policy'", "nobody approved it"],
  ["nobody", "", "nobody approved it"],
])(
  "a write that a program called running in the name of %s is not finished",
  async (_, by, why) => {
    const stage = await open({ files: FILES });
    const { gate } = stage;
    const id = await hold(gate, "write_file", { path: "evil.txt", content: "evil\n" });
    await forge(gate, `${RUNNING}${by} WHERE id = ?`, [id]);
    await forge(gate, ...evilIntents(gate.root, id));
    await gate.reopen();
    await expectRefused(stage, id, why);
  },
);

test("made-up events of an approval by the policy do not help", async () => {
  const stage = await open({ files: FILES });
  const { gate } = stage;
  const id = await hold(gate, "write_file", { path: "evil.txt", content: "evil\n" });
  await forge(gate, `${RUNNING}, decided_by = 'policy' WHERE id = ?`, [id]);
  await forge(gate, ...evilIntents(gate.root, id));
  for (const type of ["action.approved", "action.started"]) await append(gate, id, type);
  await gate.reopen();
  await expectRefused(stage, id, "requires a person's approval");
});

/** Appends an event that repeats the data of the action's first one. */
async function append(gate: TestGate, id: string, type: string, from = id): Promise<void> {
  await forge(
    gate,
    `INSERT INTO audit SELECT project_id, (SELECT max(seq) + 1 FROM audit), at, session_id, ?, ?,
      actor, data, (SELECT hash FROM audit ORDER BY seq DESC LIMIT 1), lower(hex(randomblob(32)))
      FROM audit WHERE action_id = ? AND type IN ('action.submitted', ?) ORDER BY seq DESC LIMIT 1`,
    [id, type, from, type],
  );
}

test("an approved write that has ended is not carried out again with other changes", async () => {
  const stage = await open({ files: FILES });
  const { gate } = stage;
  const id = await hold(gate, "write_file", { path: "evil.txt", content: "evil\n" });
  expect((await approve(stage, id)).status).toBe(200);
  await forge(gate, "DELETE FROM intents");
  await forge(gate, "UPDATE actions SET execution = 'running' WHERE id = ?", [id]);
  await forge(gate, ...evilIntents(gate.root, id));
  await gate.reopen();
  await expectRefused(stage, id, "its execution has ended already");
});

test.each<[string, (root: string) => string]>([
  ["another file", (root) => `path = '${root}/victim.txt' WHERE path LIKE '%a.txt'`],
  ["another content", () => `before_sha256 = after_sha256 WHERE path LIKE '%b.txt'`],
  ["another content to write", () => `after_sha256 = NULL WHERE path LIKE '%b.txt'`],
  ["a temporary file", () => `data = json_set(data, '$.temporary', 'victim.txt')`],
  ["a temporary file elsewhere", () => `data = json_set(data, '$.temporary', '../victim.txt')`],
  ["a mode", () => `data = json_set(data, '$.mode', 511)`],
  ["a mode before", () => `data = json_set(data, '$.before_mode', 511)`],
  ["folders", (root) => `data = json_set(data, '$.new_folders', json_array('${root}/empty'))`],
  ["its data", () => `data = '{}'`],
])("a crash is not recovered after a program changed %s in the intents", async (_, set) => {
  const { state, fault } = crashing();
  const stage = await open({ files: FILES, fault });
  const { gate } = stage;
  const id = await crashed(stage, state);
  await forge(gate, `UPDATE intents SET ${set(gate.root)}`);
  await gate.reopen();
  await expectRefused(stage, id, "its recorded changes are not those of its plan");
  expect(text(gate, "a.txt")).toBe("agreed\n");
});

test.each<[string, (root: string) => string, string]>([
  ["one intent", () => "DELETE FROM intents WHERE path LIKE '%a.txt'", "not those of its plan"],
  [
    "the plan",
    (root) =>
      `UPDATE actions SET input = json_set(input, '$.changes[0].path', '${root}/victim.txt')`,
    "its plan was changed",
  ],
  [
    "the plan and its digest",
    (root) =>
      `UPDATE actions SET digest = 'x', input = json_set(input, '$.folder_modes',
        json_array(json_object('path', '${root}/other', 'before', 493, 'after', 511)))`,
    "its plan was changed",
  ],
  [
    "the modes of folders",
    (root) =>
      `UPDATE actions SET input = json_set(input, '$.folder_modes',
        json_array(json_object('path', '${root}/other', 'before', 493, 'after', 511)))`,
    "its plan was changed",
  ],
  ["the status", () => "UPDATE actions SET status = 'rejected'", "it is rejected"],
  [
    "the event of its start",
    () => "UPDATE audit SET action_id = NULL WHERE type = 'action.started'",
    "does not show its start",
  ],
])("a crash is not recovered after a program changed %s", async (what, sql, why) => {
  const { state, fault } = crashing();
  const stage = await open({ files: FILES, fault });
  const { gate } = stage;
  const id = await crashed(stage, state);
  gate.write("sub/b.txt", FILES["a.txt"]);
  const mode = statSync(join(gate.root, "other")).mode;
  if (what === "the event of its start") await forge(gate, "DROP TRIGGER audit_no_update");
  await forge(gate, sql(gate.root));
  await gate.reopen();
  const action = await gate.project.actions.get(id);
  expect(action).toMatchObject({ execution: "failed" });
  expect(action.error).toContain(why);
  expect(statSync(join(gate.root, "other")).mode).toBe(mode);
  expect(text(gate, "a.txt")).toBe("agreed\n");
  expect(text(gate, "victim.txt")).toBe("precious\n");
});

test.each<[string, string, Record<string, string | null>]>([
  ["intent", "failed", { "a.txt": "agreed\n", "sub/b.txt": null }],
  ["intent, half done", "failed", { "a.txt": "agreed\n", "sub/b.txt": null }],
  ["applied", "succeeded", { "a.txt": null, "sub/b.txt": "agreed\n" }],
])("a real crash at %s is recovered: %s", async (at, execution, files) => {
  const { state, fault } = crashing();
  const stage = await open({ files: FILES, fault });
  const id = await crashed(stage, state, { at: at.split(",")[0] });
  if (at.endsWith("half done")) stage.gate.write("sub/b.txt", FILES["a.txt"]);
  await stage.gate.reopen();
  expect(await stage.gate.project.actions.get(id)).toMatchObject({ execution });
  for (const [path, content] of Object.entries(files)) {
    if (content === null) expect(existsSync(join(stage.gate.root, path))).toBe(false);
    else expect(text(stage.gate, path)).toBe(content);
  }
});

/** An approved write, whose rollback by a person crashes. */
async function rollbackCrashed(stage: Stage, state: { at: string }, of: "action" | "session") {
  const { gate, send, person } = stage;
  const id = await hold(gate, "write_file", { path: "new/a.txt", content: "new\n" });
  expect((await approve(stage, id)).status).toBe(200);
  const { session_id } = await gate.project.actions.get(id);
  const kind = of === "action" ? `actions/${id}` : `sessions/${session_id}`;
  state.at = "applied";
  await prove(send, person, ["POST", `/api/${kind}/rollback`]);
  const [row] = await gate.project.ledger.all(
    "SELECT id, execution FROM actions WHERE rollback_of = ?",
    [id],
  );
  expect(row).toMatchObject({ execution: "running" });
  return { id, rollback: String(row!.id) };
}

test.each(["action", "session"] as const)(
  "a person's rollback of one %s is recovered after a crash",
  async (of) => {
    const { state, fault } = crashing();
    const stage = await open({ files: FILES, fault });
    const { id, rollback } = await rollbackCrashed(stage, state, of);
    await stage.gate.reopen();
    const { actions } = stage.gate.project;
    expect(await actions.get(rollback)).toMatchObject({ execution: "succeeded" });
    expect(await actions.get(id)).toMatchObject({ status: "rolled_back" });
    expect(existsSync(join(stage.gate.root, "new"))).toBe(false);
  },
);

test("the proof of one rollback recovers no other one", async () => {
  const { state, fault } = crashing();
  const stage = await open({ files: FILES, fault });
  const { gate } = stage;
  const { rollback } = await rollbackCrashed(stage, state, "action");
  await gate.reopen();
  expect(await gate.project.actions.get(rollback)).toMatchObject({ execution: "succeeded" });
  const evil = await hold(gate, "write_file", { path: "evil.txt", content: "evil\n" });
  await forge(
    gate,
    `${RUNNING}, decided_by = 'reviewer', tool = 'rollback', input = json_set(input, '$.tool',
      'rollback'), digest = 'x', rollback_of = (SELECT rollback_of FROM actions WHERE id = ?)
      WHERE id = ?`,
    [rollback, evil],
  );
  const { digestOf } = await import("../../../server/actions/plan.ts");
  const [row] = await gate.project.ledger.all("SELECT input FROM actions WHERE id = ?", [evil]);
  const digest = digestOf(JSON.parse(String(row!.input)));
  await forge(gate, "UPDATE actions SET digest = ? WHERE id = ?", [digest, evil]);
  await forge(gate, ...evilIntents(gate.root, evil));
  await append(gate, evil, "action.approved", rollback);
  await append(gate, evil, "action.started");
  await gate.reopen();
  await expectRefused(stage, evil, "it was used before");
});

test("a person's rollback restores nothing that its original did not change", async () => {
  const { state, fault } = crashing();
  const stage = await open({ files: FILES, fault });
  const { gate } = stage;
  const { rollback } = await rollbackCrashed(stage, state, "action");
  const [row] = await gate.project.ledger.all("SELECT input FROM actions WHERE id = ?", [rollback]);
  const { digestOf } = await import("../../../server/actions/plan.ts");
  const plan = JSON.parse(String(row!.input).replaceAll("new/a.txt", "victim.txt"));
  await forge(gate, "UPDATE actions SET input = ?, digest = ? WHERE id = ?", [
    JSON.stringify(plan),
    digestOf(plan),
    rollback,
  ]);
  await forge(gate, "UPDATE intents SET path = replace(path, 'new/a.txt', 'victim.txt')");
  await gate.reopen();
  await expectRefused(stage, rollback, "the original did not change");
});

test("where the reviewer's token decides, a made-up execution is not finished either", async () => {
  const gate = await createTestGate({ policies: { defaultEffect: "ask" }, files: FILES });
  const { action } = await gate.project.actions.submit(
    { tool: "write_file", input: { path: "evil.txt", content: "evil\n" } },
    testCaller("agent"),
  );
  await forge(gate, `${RUNNING}, decided_by = 'reviewer' WHERE id = ?`, [action.id]);
  await forge(gate, ...evilIntents(gate.root, action.id));
  await gate.reopen();
  expect(await gate.project.actions.get(action.id)).toMatchObject({ execution: "failed" });
  expect(text(gate, "victim.txt")).toBe("precious\n");
});
