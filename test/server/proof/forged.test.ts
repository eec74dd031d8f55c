import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Database } from "../../../server/db/database.ts";
import type { Value } from "../../../server/db/ledger.ts";
import { createTestGate, testCaller, type TestGate, type TestGateOptions } from "../../helpers.ts";
import { enrol, type Person, prove, type Send, sendTo, withPassphrase } from "./person.ts";

const ASK = { defaultEffect: "ask" as const };

interface Stage {
  gate: TestGate;
  send: Send;
  person: Person;
}

async function open(options: TestGateOptions = {}): Promise<Stage> {
  const gate = await createTestGate({ proof: "none", policies: ASK, ...options });
  const send = sendTo(gate);
  const person = withPassphrase();
  expect((await enrol(send, person)).status).toBe(200);
  return { gate, send, person };
}

/** Another program of the same user writes the ledger of the running daemon. */
async function forge({ home }: TestGate, sql: string, args: Value[] = []): Promise<void> {
  const path = join(home, "projects", "test", "ledger.db");
  const database = await Database.open(path, { busy_limit_ms: 5_000 });
  await database.batch([{ sql, args }]);
  await database.close();
}

const APPROVED = "UPDATE actions SET status = 'approved', decided_at = created_at";
const NO_PROOF = "no proof of a person's approval stands in the log";

async function hold(gate: TestGate, tool = "write_file", input: Record<string, unknown> = WRITE) {
  const { action } = await gate.project.actions.submit({ tool, input }, testCaller("agent"));
  expect(action.status).toBe("pending");
  return action.id;
}

const WRITE = { path: "a.txt", content: "new\n" };
const claimOf = (gate: TestGate, id: string) =>
  gate.request("POST", `/api/actions/${id}/claim`, {}, "reviewer");
const COMMAND = { command: "touch made" };
const approve = (stage: Stage, id: string, body = {}, verb = "approve") =>
  prove(stage.send, stage.person, ["POST", `/api/actions/${id}/${verb}`, body]);

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
  ["the policy, which asks", ", decided_by = 'policy'", "requires a person's approval"],
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
      actor, data, hash, 'f' || substr(hash, 2) FROM audit
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
  const gate = await createTestGate({ policies: ASK });
  const id = await hold(gate, "run_command", COMMAND);
  expect((await gate.request("POST", `/api/actions/${id}/approve`, {})).status).toBe(200);
  await gate.reopen();
  expect((await claimOf(gate, id)).status).toBe(200);
});
