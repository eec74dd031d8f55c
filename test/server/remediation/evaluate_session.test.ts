import { expect, test } from "vitest";
import { createTestGate } from "../../helpers.ts";
import { misbehave, openSession } from "./session.ts";

test("finds what a session did", async () => {
  const { gate, session_id, submit, post } = await openSession();
  await submit("write_file", { path: "src/b.ts", content: "1" });
  expect((await post("evaluate-policy", { session_id })).body).toEqual({
    compliant: true,
    violations: [],
    budget: [
      { of: "files", spent: 1, limit: expect.any(Number) },
      { of: "bytes", spent: 1, limit: expect.any(Number) },
      { of: "deletions", spent: 0, limit: expect.any(Number) },
    ],
  });
  await misbehave(submit);
  const { body } = await post("evaluate-policy", { session_id });
  expect(body.compliant).toBe(false);
  expect(new Set(body.violations.map(({ rule }: { rule: string }) => rule))).toEqual(
    new Set(["secret_touched", "blocked_attempt", "unreviewed_overwrite", "unreviewed_risk"]),
  );
  await gate.close();
});

test("a budget counts what no person approved, against the limits in force", async () => {
  const gate = await createTestGate({
    files: { "a.txt": "1", "b.txt": "2" },
    policies: {
      defaultEffect: "allow",
      askPaths: ["held/**"],
      maxChangedFilesPerSession: 3,
      maxChangedBytesPerSession: 1_000,
      maxDeletionsPerSession: 2,
    },
  });
  const opened = await gate.request("POST", "/api/sessions", { agent: "a", host: "test" }, "agent");
  const { id: session_id, session_secret } = await opened.json();
  const submit = async (tool: string, input: Record<string, unknown>) => {
    const body = { tool, input, session_id };
    const headers = { "X-Gate-Session": session_secret };
    return await (await gate.request("POST", "/api/actions", body, "agent", headers)).json();
  };
  const budget = async () => {
    const answer = await gate.request("POST", "/api/remediation/evaluate-policy", { session_id });
    return (await answer.json()).budget;
  };
  const of = (files: number, bytes: number, deletions: number) => [
    { of: "files", spent: files, limit: 3 },
    { of: "bytes", spent: bytes, limit: 1_000 },
    { of: "deletions", spent: deletions, limit: 2 },
  ];
  expect(await budget()).toEqual(of(0, 0, 0));
  await submit("write_file", { path: "c.txt", content: "x".repeat(10) });
  await submit("delete_file", { path: "a.txt" });
  expect(await budget()).toEqual(of(2, 10, 1));
  const held = await submit("write_file", { path: "held/d.txt", content: "x" });
  await gate.request("POST", `/api/actions/${held.id}/approve`, {});
  expect(await budget()).toEqual(of(2, 10, 1));
  await gate.reopen();
  expect(await budget()).toEqual(of(2, 10, 1));
  await gate.close();
});

test.each([
  [{}, 400],
  [{ session_id: "none" }, 404],
])("%j is answered with %d", async (body, status) => {
  const { gate, post } = await openSession();
  const answer = await post("evaluate-policy", body);
  expect(answer).toMatchObject({ status, body: { detail: expect.any(String) } });
  await gate.close();
});
