import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { insertBlock } from "../../../server/remediation/store.ts";
import { createTestGate, testCaller, type TestGate } from "../../helpers.ts";
import { approve, forge, hold, open, type Stage } from "./forging.ts";
import { enrol, prove, sendTo, withPassphrase } from "./person.ts";

const APPROVED = "UPDATE actions SET status = 'approved', decided_at = created_at";
const NO_PROOF = "no proof of a person's approval stands in the log";

const claimOf = (gate: TestGate, id: string) =>
  gate.request("POST", `/api/actions/${id}/claim`, {}, "reviewer");
const COMMAND = { command: "touch made" };

/** The action failed before it started, and the log and the daemon's log say why. */
async function expectRefused({ gate }: Stage, id: string, why: string): Promise<void> {
  const action = await gate.project.actions.get(id);
  expect(action).toMatchObject({ status: "approved", execution: "failed" });
  expect(action.error).toContain(why);
  const events = (await gate.audit()).filter(({ action_id }) => action_id === id);
  expect(events.some(({ type }) => type === "action.started")).toBe(false);
  expect(events.at(-1)).toMatchObject({ type: "action.finished", data: { execution: "failed" } });
  expect(gate.logs).toContainEqual(expect.objectContaining({ level: "error" }));
}

test.each<[string, string, string]>([
  ["a person", ", decided_by = 'reviewer'", NO_PROOF],
  ["nobody", "", NO_PROOF],
  ["the policy, which asks", ", decided_by = 'policy'", "requires a person's approval"],
  [
    "the policy, with the plan of another command",
    `, decided_by = 'policy', command = 'touch evil'`,
    "its plan was changed",
  ],
])("a command that a program approved in the name of %s is not claimed", async (_, set, why) => {
  const stage = await open();
  const { gate } = stage;
  const id = await hold(gate, "run_command", COMMAND);
  await forge(gate, `${APPROVED}${set} WHERE id = ?`, [id]);
  const answer = await claimOf(gate, id);
  expect(answer.status).toBe(409);
  expect((await answer.json()).detail).toContain(why);
  const action = await gate.project.actions.get(id);
  expect(action.execution).toBe("failed");
  expect((await claimOf(gate, id)).status).toBe(409);
});

test.each<[string, string, string]>([
  ["a person", ", decided_by = 'reviewer'", NO_PROOF],
  ["the policy", ", decided_by = 'policy'", "nobody approved it"],
])("a write approved in the name of %s is not executed by the next start", async (_, set, why) => {
  const stage = await open();
  const { gate } = stage;
  const id = await hold(gate);
  await forge(gate, `${APPROVED}${set} WHERE id = ?`, [id]);
  await gate.reopen();
  expect(existsSync(join(gate.root, "a.txt"))).toBe(false);
  const action = await gate.project.actions.get(id);
  expect(action).toMatchObject({ status: "approved", execution: "failed" });
  expect(action.error).toContain(why);
  const last = (await gate.audit()).findLast(({ action_id }) => action_id === id);
  expect(last).toMatchObject({ type: "action.finished", data: { execution: "failed" } });
});

test("the refusal of a forged approval is recorded and logged", async () => {
  const stage = await open();
  const id = await hold(stage.gate, "run_command", COMMAND);
  await forge(stage.gate, `${APPROVED}, decided_by = 'reviewer' WHERE id = ?`, [id]);
  expect((await claimOf(stage.gate, id)).status).toBe(409);
  await expectRefused(stage, id, NO_PROOF);
});

test("the proof of one action approves no other one, whatever the log was made to say", async () => {
  const stage = await open();
  const { gate } = stage;
  const [real, forged] = [
    await hold(gate, "run_command", { command: "touch real" }),
    await hold(gate, "run_command", COMMAND),
  ];
  expect((await approve(stage, real)).status).toBe(200);
  await forge(gate, `${APPROVED}, decided_by = 'reviewer' WHERE id = ?`, [forged]);
  await forge(
    gate,
    `INSERT INTO audit SELECT project_id, (SELECT max(seq) + 1 FROM audit), at, session_id, ?, type,
      actor, data, hash, lower(hex(randomblob(32))) FROM audit
      WHERE action_id = ? AND type = 'action.approved'`,
    [forged, real],
  );
  const answer = await claimOf(gate, forged);
  expect(answer.status).toBe(409);
  expect((await answer.json()).detail).toContain(`${NO_PROOF}: it is for another action`);
});

test("an approval is used once", async () => {
  const stage = await open();
  const { gate } = stage;
  const id = await hold(gate, "run_command", COMMAND);
  expect((await approve(stage, id)).status).toBe(200);
  expect((await claimOf(gate, id)).status).toBe(200);
  await forge(gate, "UPDATE actions SET execution = 'none', claim_id = NULL WHERE id = ?", [id]);
  const again = await claimOf(gate, id);
  expect(again.status).toBe(409);
  expect((await again.json()).detail).toContain("its approval was used already");
});

test.each<[string, string]>([
  ["the command", "UPDATE actions SET command = 'touch evil' WHERE id = ?"],
  [
    "the plan",
    "UPDATE actions SET command = 'touch evil', input = json_set(input, '$.command', 'touch evil') WHERE id = ?",
  ],
  ["the folder", "UPDATE actions SET cwd = '/' WHERE id = ?"],
])("an approved command is not claimed after a program changed %s", async (_, sql) => {
  const stage = await open();
  const { gate } = stage;
  const id = await hold(gate, "run_command", COMMAND);
  expect((await approve(stage, id)).status).toBe(200);
  await forge(gate, sql, [id]);
  const answer = await claimOf(gate, id);
  expect(answer.status).toBe(409);
  expect((await answer.json()).detail).toContain("its plan was changed in the ledger");
});

test("a read that a program marked as done answers nothing", async () => {
  const { gate } = await open({ files: { "secret.txt": "secret" } });
  const id = await hold(gate, "read_file", { path: "secret.txt" });
  await forge(
    gate,
    `${APPROVED}, decided_by = 'reviewer', execution = 'succeeded' WHERE id = ?`,
    [id],
  );
  const answer = await gate.project.actions.wait(id, { timeout_ms: 10 }, testCaller("agent"));
  expect(answer.result).toBeNull();
});

test.each([
  ["approve", {}, "touch made"],
  ["approve", { remember: { scope: "session", ttl_seconds: 60, max_uses: 1 } }, "touch made"],
  ["approve-with-edit", { command: "ls" }, "ls"],
])("a real approval is claimed, also after a restart: %s %j", async (verb, body, command) => {
  const stage = await open();
  const { gate } = stage;
  const ids = [await hold(gate, "run_command", COMMAND)];
  expect((await approve(stage, ids[0]!, body, verb)).status).toBe(200);
  await gate.reopen();
  const answer = await claimOf(gate, ids[0]!);
  expect(answer.status).toBe(200);
  expect((await answer.json()).command).toBe(command);
});

test.each<[string, Record<string, unknown>, string]>([
  ["approve", {}, "new\n"],
  ["approve-with-edit", { content: "edited\n" }, "edited\n"],
])("a real approval is executed by the start after a crash: %s", async (verb, body, text) => {
  let crash = false;
  const fault = (step: string) => {
    if (crash && step === "decided") throw new Error("crash");
    return Promise.resolve();
  };
  const stage = await open({ fault });
  const { gate } = stage;
  const id = await hold(gate);
  crash = true;
  await approve(stage, id, body, verb);
  crash = false;
  expect(await gate.project.actions.get(id)).toMatchObject({ execution: "none" });
  await gate.reopen();
  expect(await gate.project.actions.get(id)).toMatchObject({ execution: "succeeded" });
  expect(readFileSync(join(gate.root, "a.txt"), "utf8")).toBe(text);
});

test("where the reviewer's token decides, no proof is asked of the log", async () => {
  const gate = await createTestGate({ policies: { defaultEffect: "ask" } });
  const id = await hold(gate, "run_command", COMMAND);
  expect((await gate.request("POST", `/api/actions/${id}/approve`, {})).status).toBe(200);
  await gate.reopen();
  expect((await claimOf(gate, id)).status).toBe(200);
});

const GRANT = { scope: "project", ttl_seconds: 3600, max_uses: 1, pattern: "npm publish *" };
const PUBLISH = { command: "npm publish a" };
const run = async ({ gate }: Stage, command: string) =>
  (await gate.project.actions.submit(
    { tool: "run_command", input: { command } },
    testCaller("agent"),
  )).action;

describe("a grant counts only with the proof of the approval that made it", () => {
  test("a real one is used, also after a restart", async () => {
    const stage = await open();
    const id = await hold(stage.gate, "run_command", PUBLISH);
    expect((await approve(stage, id, { remember: GRANT })).status).toBe(200);
    await stage.gate.reopen();
    const allowed = await run(stage, "npm publish more");
    expect(allowed).toMatchObject({ status: "approved", decided_by: "policy" });
    expect((await claimOf(stage.gate, allowed.id)).status).toBe(200);
  });

  test.each<[string, string]>([
    ["with more uses", "UPDATE grants SET max_uses = 1000"],
    ["with its uses taken back", "UPDATE grants SET uses = 0"],
    ["with another pattern", "UPDATE grants SET uses = 0, max_uses = 2, pattern = 'npm *'"],
    ["for a longer time", "UPDATE grants SET uses = 0, expires_at = '2099-01-01T00:00:00.000Z'"],
    [
      "copied under another id",
      `INSERT INTO grants SELECT project_id,
      '00000000-0000-7000-8000-00000000ffff', 99, scope, session_id, action_id, digest, pattern,
      access, tool, path, command, questions, scripts, given_by, created_at, expires_at, max_uses, 0,
      NULL, NULL, NULL, NULL, NULL FROM grants`,
    ],
  ])("not %s", async (_, sql) => {
    const stage = await open();
    const id = await hold(stage.gate, "run_command", PUBLISH);
    expect((await approve(stage, id, { remember: GRANT })).status).toBe(200);
    expect(await run(stage, "npm publish first")).toMatchObject({ status: "approved" });
    await forge(stage.gate, sql);
    expect(await run(stage, "npm publish second")).toMatchObject({ status: "pending" });
  });

  test("not one that a program made up", async () => {
    const stage = await open();
    const id = await hold(stage.gate, "run_command", PUBLISH);
    expect((await approve(stage, id)).status).toBe(200);
    const other = await hold(stage.gate, "run_command", { command: "npm publish asked" });
    const { questions } = await questionsOf(stage);
    await forge(
      stage.gate,
      `INSERT INTO grants (project_id, id, seq, scope, session_id, action_id, digest, pattern, access,
        tool, command, questions, scripts, given_by, created_at, expires_at, max_uses, uses)
        SELECT project_id, '00000000-0000-7000-8000-00000000ffff', 99, 'project', session_id, id,
        digest, 'npm publish *', 'run', tool, command, ?, '[]', 'reviewer', created_at,
        '2099-01-01T00:00:00.000Z', 1000, 0 FROM actions WHERE id = ?`,
      [questions, id],
    );
    expect(await run(stage, "npm publish more")).toMatchObject({ status: "pending" });
    await forge(
      stage.gate,
      `${APPROVED}, decided_by = 'policy',
      decision = json_set(decision, '$.effect', 'allow', '$.grant_id',
        '00000000-0000-7000-8000-00000000ffff') WHERE id = ?`,
      [other],
    );
    const answer = await claimOf(stage.gate, other);
    expect(answer.status).toBe(409);
    expect((await answer.json()).detail).toContain("no proof of the grant");
  });
});

/** The questions that a real grant of a command answers. */
async function questionsOf(stage: Stage): Promise<{ questions: string }> {
  const id = await hold(stage.gate, "run_command", { command: "npm publish third" });
  const { pattern: _, ...remember } = GRANT;
  expect((await approve(stage, id, { remember })).status).toBe(200);
  const [row] = await stage.gate.project.ledger.all("SELECT questions FROM grants");
  return { questions: String(row!.questions) };
}

describe("a lifted block counts only with a person's proof", () => {
  async function blocked() {
    const stage = await open({ policies: { defaultEffect: "allow" } });
    const block_id = "00000000-0000-7000-8000-00000000bbbb";
    await block(stage, block_id);
    expect(await run(stage, "ls a")).toMatchObject({ status: "blocked" });
    return { stage, block_id };
  }

  async function block(stage: Stage, block_id: string): Promise<void> {
    const { gate } = stage;
    const { session_id } = await run(stage, "ls");
    const reason = "it changed a guarded file";
    await gate.project.ledger.commit({
      statements: [insertBlock({
        id: block_id,
        project_id: "test",
        session_id,
        action_id: null,
        reason,
        agent: null,
        created_at: new Date(gate.clock.now).toISOString(),
        expires_at: null,
        lifted_at: null,
        lifted_by: null,
      })],
      events: [{
        session_id,
        action_id: null,
        type: "block.added",
        data: { block_id, reason },
        actor: { kind: "system", id: "gate" },
      }],
    });
  }

  const FORGED_LIFT = `INSERT INTO audit SELECT project_id, (SELECT max(seq) + 1 FROM audit), at,
    session_id, action_id, 'block.removed', actor, data, (SELECT hash FROM audit ORDER BY seq DESC LIMIT 1), lower(hex(randomblob(32))) FROM audit
    WHERE type = 'block.added'`;
  const FORGET = "DROP TRIGGER audit_no_delete; DELETE FROM audit WHERE type = 'block.added'";
  const LIFTS = [
    "UPDATE blocks SET lifted_at = created_at, lifted_by = 'reviewer'",
    "DELETE FROM blocks",
  ];

  test.each([
    ...LIFTS,
    `${LIFTS[1]}; ${FORGET}`,
    `${LIFTS[0]}; ${FORGED_LIFT}`,
  ])("not by %s, while the daemon runs", async (sql) => {
    const { stage, block_id } = await blocked();
    for (const one of sql.split("; ")) await forge(stage.gate, one);
    expect(await run(stage, "ls b")).toMatchObject({ status: "blocked" });
    const path = `/api/remediation/blocks/${block_id}/unblock`;
    expect((await prove(stage.send, stage.person, ["POST", path, {}])).status).toBe(200);
    expect(await run(stage, "ls c")).toMatchObject({ status: "approved" });
  });

  test.each([
    ...LIFTS,
    FORGET,
    `${LIFTS[0]}; ${FORGED_LIFT}`,
    `${LIFTS[1]}; ${FORGED_LIFT}`,
  ])("not by %s, before a start", async (sql) => {
    const { stage, block_id } = await blocked();
    for (const one of sql.split("; ")) await forge(stage.gate, one);
    await stage.gate.reopen();
    expect(await run(stage, "ls b")).toMatchObject({ status: "blocked" });
    const listed = await (await stage.send("GET", "/api/remediation/blocks")).json();
    expect(listed.items).toMatchObject([{ id: block_id, lifted_at: null }]);
  });

  test("not by the proof of another block", async () => {
    const { stage, block_id } = await blocked();
    const path = `/api/remediation/blocks/${block_id}/unblock`;
    expect((await prove(stage.send, stage.person, ["POST", path, {}])).status).toBe(200);
    const other = "00000000-0000-7000-8000-00000000cccc";
    await block(stage, other);
    expect(await run(stage, "ls b")).toMatchObject({ status: "blocked" });
    await forge(
      stage.gate,
      `INSERT INTO audit SELECT project_id, (SELECT max(seq) + 1 FROM audit), at, session_id,
        action_id, type, actor, replace(data, '"block_id":"${block_id}"', '"block_id":"${other}"'),
        (SELECT hash FROM audit ORDER BY seq DESC LIMIT 1), lower(hex(randomblob(32))) FROM audit WHERE type = 'block.removed'`,
    );
    await forge(stage.gate, "UPDATE blocks SET lifted_at = created_at");
    await stage.gate.reopen();
    expect(await run(stage, "ls c")).toMatchObject({ status: "blocked" });
  });

  test("a lift that asked for no proof ends when a person enrols", async () => {
    const gate = await createTestGate();
    const stage = { gate, send: sendTo(gate), person: withPassphrase() };
    const block_id = "00000000-0000-7000-8000-00000000bbbb";
    await block(stage, block_id);
    expect(await run(stage, "ls a")).toMatchObject({ status: "blocked" });
    const path = `/api/remediation/blocks/${block_id}/unblock`;
    expect((await stage.send("POST", path, {})).status).toBe(200);
    expect(await run(stage, "ls b")).toMatchObject({ status: "approved" });
    await gate.reopen();
    expect(await run(stage, "ls c")).toMatchObject({ status: "approved" });
    expect((await enrol(stage.send, stage.person)).status).toBe(200);
    expect(await run(stage, "ls d")).toMatchObject({ status: "blocked" });
    expect((await prove(stage.send, stage.person, ["POST", path, {}])).status).toBe(200);
    await gate.reopen();
    expect(await run(stage, "ls e")).toMatchObject({ status: "approved" });
  });

  test.each(LIFTS)("the list tells of %s", async (sql) => {
    const { stage, block_id } = await blocked();
    await forge(stage.gate, sql);
    const listed = await (await stage.send("GET", "/api/remediation/blocks")).json();
    expect(listed.items).toMatchObject([{ id: block_id, lifted_at: null }]);
    expect(stage.gate.logs).toContainEqual(expect.objectContaining({
      message: "a block was lifted without a person's proof",
    }));
  });

  test("a real lift is believed, also after a restart", async () => {
    const { stage, block_id } = await blocked();
    const path = `/api/remediation/blocks/${block_id}/unblock`;
    expect((await prove(stage.send, stage.person, ["POST", path, {}])).status).toBe(200);
    expect(await run(stage, "ls b")).toMatchObject({ status: "approved" });
    await stage.gate.reopen();
    expect(await run(stage, "ls c")).toMatchObject({ status: "approved" });
  });
});
