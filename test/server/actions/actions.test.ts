import { createHash } from "node:crypto";
import { chmodSync, existsSync, lstatSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createTestGate, testCaller, type TestGate } from "../../helpers.ts";
import { runCommand } from "../../../server/runtime/spawn.ts";
import type { Policies } from "../../../server/policy/schema.ts";

const agent = testCaller("agent");
const reviewer = testCaller("reviewer", "ann");
const HELD: Policies = { defaultEffect: "ask" };

const sha = (content: string | Uint8Array) => createHash("sha256").update(content).digest("hex");
const read = (gate: TestGate, path: string) => readFileSync(join(gate.root, path), "utf8");
const types = async (gate: TestGate, id: string) =>
  (await gate.audit()).filter((event) => event.action_id === id).map((event) => event.type);
const write = (gate: TestGate, path: string, content: string, wait_ms = 0) =>
  gate.project.actions.submit({ tool: "write_file", input: { path, content }, wait_ms }, agent);

test("submit() writes an allowed file and records the action before it returns", async () => {
  const gate = await createTestGate();
  const { action, result } = await write(gate, "src/a.txt", "hello");
  expect(action).toMatchObject({
    tool: "write_file",
    path: "src/a.txt",
    status: "approved",
    execution: "succeeded",
    decided_by: "policy",
    reversible: true,
    before_sha256: null,
    after_sha256: sha("hello"),
    bytes: 5,
    error: null,
  });
  expect(result).toEqual({ path: "src/a.txt", sha256: sha("hello"), bytes: 5, created: true });
  expect(read(gate, "src/a.txt")).toBe("hello");
  expect(await types(gate, action.id)).toEqual([
    "action.submitted",
    "action.approved",
    "action.started",
    "action.finished",
  ]);
});

test("a blocked write returns its rule and reason and changes no file", async () => {
  const gate = await createTestGate({
    policies: { defaultEffect: "allow", blockedPaths: [".env"] },
  });
  const { action, result } = await write(gate, ".env", "SECRET=1");
  expect(action).toMatchObject({
    status: "blocked",
    execution: "none",
    decided_by: "policy",
    decision: {
      effect: "deny",
      rule: { pattern: ".env", list: "blockedPaths", source: "project" },
    },
  });
  expect(result).toBeNull();
  expect(existsSync(join(gate.root, ".env"))).toBe(false);
  expect(await types(gate, action.id)).toEqual(["action.submitted", "action.rejected"]);
});

test("an approval executes a held write, keeps the file's mode and ends the agent's wait", async () => {
  const gate = await createTestGate({ policies: HELD, files: { "run.sh": "old" } });
  chmodSync(join(gate.root, "run.sh"), 0o755);
  const { action } = await write(gate, "run.sh", "new");
  expect(action).toMatchObject({ status: "pending", execution: "none", decided_by: null });
  const waiting = gate.project.actions.wait(action.id, { timeout_ms: 10_000 }, agent);
  const approved = await gate.project.actions.approve(action.id, {
    reason: "fine",
    expected_digest: action.digest,
  }, reviewer);
  expect(approved).toMatchObject({
    status: "approved",
    execution: "succeeded",
    decided_by: "ann",
    reason: "fine",
  });
  expect((await waiting).action).toEqual(approved);
  expect(read(gate, "run.sh")).toBe("new");
  expect(lstatSync(join(gate.root, "run.sh")).mode & 0o777).toBe(0o755);
  expect(await types(gate, action.id)).toEqual([
    "action.submitted",
    "action.approved",
    "action.started",
    "action.finished",
  ]);
});

test("a rejection leaves the file alone and gives the agent the reason", async () => {
  const gate = await createTestGate({ policies: HELD });
  const { action } = await write(gate, "a.txt", "x");
  const waiting = gate.project.actions.wait(action.id, { timeout_ms: 10_000 }, agent);
  await gate.project.actions.reject(action.id, { reason: "not here" }, reviewer);
  expect((await waiting).action).toMatchObject({ status: "rejected", reason: "not here" });
  expect(existsSync(join(gate.root, "a.txt"))).toBe(false);
});

test("a command is claimed once and its result is accepted once", async () => {
  const gate = await createTestGate({ policies: HELD });
  const { actions } = gate.project;
  const { action } = await actions.submit({
    tool: "run_command",
    input: { command: "echo hi; exit 3" },
  }, agent);
  await actions.approve(action.id, {}, reviewer);
  const { action: ready } = await actions.wait(action.id, { timeout_ms: 0 }, agent);
  expect(ready).toMatchObject({ status: "approved", execution: "none" });
  const claim = await actions.claim(action.id, { holder: "me" }, agent);
  await expect(actions.claim(action.id, {}, agent)).rejects.toMatchObject({ code: "conflict" });
  const { claim_id, command, cwd, timeout_ms, max_output_bytes } = claim;
  const ran = await runCommand(command, { cwd, timeout_ms, max_output_bytes });
  const done = await actions.result(action.id, { claim_id, ...ran }, agent);
  expect(done).toMatchObject({ execution: "failed", exit_code: 3 });
  const { result } = await actions.wait(action.id, { timeout_ms: 0 }, agent);
  expect(result).toMatchObject({ exit_code: 3, output: "hi\n", truncated: false, error: null });
  await expect(actions.result(action.id, { claim_id, ...ran }, agent)).rejects.toMatchObject({
    code: "conflict",
  });
});

test("a rollback can itself be rolled back, and a replay is a new action", async () => {
  const gate = await createTestGate({ files: { "a.txt": "v1" } });
  const { actions } = gate.project;
  const { action } = await write(gate, "a.txt", "v2");
  const back = await actions.rollback(action.id, {}, reviewer);
  expect(back).toMatchObject({
    outcome: "restored",
    action: { status: "rolled_back" },
    rollback: { tool: "rollback", rollback_of: action.id, execution: "succeeded" },
  });
  expect(read(gate, "a.txt")).toBe("v1");
  const replayed = await actions.replay(action.id, reviewer);
  expect(replayed.action).toMatchObject({ replay_of: action.id, execution: "succeeded" });
  expect((await actions.get(action.id)).status).toBe("rolled_back");
  expect(read(gate, "a.txt")).toBe("v2");
  await actions.rollback(replayed.action.id, {}, reviewer);
  expect(read(gate, "a.txt")).toBe("v1");
  await actions.rollback(back.rollback!.id, {}, reviewer);
  expect(read(gate, "a.txt")).toBe("v2");
  expect((await actions.get(action.id)).status).toBe("approved");
});
