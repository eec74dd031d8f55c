import { describe, expect, test } from "vitest";
import { createTestGate, type TestGate } from "../../../helpers.ts";

interface Answer {
  id: string;
  status: string;
  digest: string;
  decision: { effect: string; reason: string; rule: { list: string; pattern: string } | null };
}

async function openSession(gate: TestGate) {
  const opened = await gate.request("POST", "/api/sessions", { agent: "a", host: "test" }, "agent");
  const { id: session_id, session_secret } = await opened.json();
  const headers = { "X-Gate-Session": session_secret };
  return async (tool: string, input: Record<string, unknown>): Promise<Answer> => {
    const body = { tool, input, session_id };
    return await (await gate.request("POST", "/api/actions", body, "agent", headers)).json();
  };
}

const ASKS = { status: "pending", decision: { effect: "ask", rule: { list: "budget" } } };

describe("the budget of a session", () => {
  test("asks once so many files are changed, survives a restart, and an approval renews it", async () => {
    const gate = await createTestGate({
      policies: { defaultEffect: "allow", maxChangedFilesPerSession: 3 },
    });
    const submit = await openSession(gate);
    const write = (path: string) => submit("write_file", { path, content: "x" });
    for (const path of ["a", "b", "c", "a", "b"]) {
      expect(await write(path)).toMatchObject({ status: "approved" });
    }
    expect(await write("d")).toMatchObject({
      status: "pending",
      decision: {
        rule: { list: "budget", pattern: "maxChangedFilesPerSession" },
        reason: expect.stringContaining("it would reach 4 changed files"),
      },
    });
    await gate.reopen();
    // Known files may change again, and reads are free.
    expect(await write("a")).toMatchObject({ status: "approved" });
    expect(await submit("read_file", { path: "a" })).toMatchObject({ status: "approved" });
    expect(await submit("run_command", { command: "ls" })).toMatchObject({ status: "approved" });
    const held = await write("e");
    expect(held).toMatchObject(ASKS);
    const { id, digest } = held;
    const url = `/api/actions/${id}/approve`;
    expect((await gate.request("POST", url, { expected_digest: digest })).status).toBe(200);
    for (const path of ["f", "g", "h"]) {
      expect(await write(path)).toMatchObject({ status: "approved" });
    }
    await gate.reopen();
    expect(await write("i")).toMatchObject(ASKS);
    const other = await openSession(gate);
    expect(await other("write_file", { path: "i", content: "x" })).toMatchObject({
      status: "approved",
    });
  });

  test("asks once so many bytes are written", async () => {
    const gate = await createTestGate({
      policies: { defaultEffect: "allow", maxChangedBytesPerSession: 100 },
    });
    const submit = await openSession(gate);
    const write = (bytes: number) =>
      submit("write_file", { path: "a", content: "x".repeat(bytes) });
    expect(await write(60)).toMatchObject({ status: "approved" });
    expect(await write(41)).toMatchObject(ASKS);
    expect(await write(40)).toMatchObject({ status: "approved" });
    expect(await write(1)).toMatchObject(ASKS);
  });

  test("asks once so many files are deleted; a move is no deletion", async () => {
    const files = { a: "1", b: "2", c: "3", d: "4" };
    const gate = await createTestGate({
      files,
      policies: { defaultEffect: "allow", maxDeletionsPerSession: 2 },
    });
    const submit = await openSession(gate);
    expect(await submit("move_file", { from: "d", to: "e" })).toMatchObject({ status: "approved" });
    for (const path of ["a", "b"]) {
      expect(await submit("delete_file", { path })).toMatchObject({ status: "approved" });
    }
    expect(await submit("delete_file", { path: "c" })).toMatchObject(ASKS);
    // Nobody knows what this deletes.
    expect(await submit("run_command", { command: "make" })).toMatchObject(ASKS);
    expect(await submit("write_file", { path: "a", content: "" })).toMatchObject({
      status: "approved",
    });
  });

  test("a command's changes count when it has finished", async () => {
    const gate = await createTestGate({
      files: { a: "1" },
      policies: { defaultEffect: "allow", maxChangedFilesPerSession: 1 },
    });
    const submit = await openSession(gate);
    const { id } = await submit("run_command", { command: "cp a b" });
    const claim = await (await gate.request("POST", `/api/actions/${id}/claim`, {
      holder: "test",
    })).json();
    gate.write("b", "1");
    const result = { exit_code: 0, output: "", truncated: false, duration_ms: 1 };
    const done = await gate.request("POST", `/api/actions/${id}/result`, {
      ...result,
      claim_id: claim.claim_id,
    });
    expect(done.status).toBe(200);
    expect(await submit("write_file", { path: "c", content: "1" })).toMatchObject(ASKS);
    expect(await submit("run_command", { command: "make" })).toMatchObject(ASKS);
    await gate.reopen();
    expect(await submit("write_file", { path: "c", content: "2" })).toMatchObject(ASKS);
  });

  test("no grant answers for a spent budget", async () => {
    const gate = await createTestGate({
      policies: { defaultEffect: "allow", askPaths: ["x"], maxChangedFilesPerSession: 1 },
    });
    const submit = await openSession(gate);
    const first = await submit("write_file", { path: "x", content: "1" });
    const remember = { scope: "session", ttl_seconds: 600, max_uses: 9 };
    const url = `/api/actions/${first.id}/approve`;
    const approved = await gate.request("POST", url, {
      expected_digest: first.digest,
      remember: { ...remember, pattern: "x" },
    });
    expect(approved.status).toBe(200);
    expect(await submit("write_file", { path: "x", content: "2" })).toMatchObject({
      status: "approved",
    });
    expect(await submit("write_file", { path: "y", content: "2" })).toMatchObject(ASKS);
  });

  test("the stricter of the machine's and the project's limit holds", async () => {
    const gate = await createTestGate({
      policies: { defaultEffect: "allow", maxChangedFilesPerSession: 5 },
      globalPolicies: { maxChangedFilesPerSession: 1 },
    });
    const submit = await openSession(gate);
    await submit("write_file", { path: "a", content: "1" });
    expect(await submit("write_file", { path: "b", content: "1" })).toMatchObject({
      status: "pending",
      decision: { rule: { pattern: "maxChangedFilesPerSession" } },
    });
  });
});
