import { expect, test } from "vitest";
import { createTestGate } from "../../helpers.ts";

async function stage() {
  const gate = await createTestGate({
    files: { ".env": "A=1", "src/a.ts": "old" },
    policies: { defaultEffect: "allow", blockedPaths: ["secret/**"], askCommands: ["terraform"] },
  });
  const opened = await gate.request("POST", "/api/sessions", { agent: "a", host: "test" }, "agent");
  const { id: session_id, session_secret } = await opened.json();
  const headers = { "X-Gate-Session": session_secret };
  const submit = async (tool: string, input: Record<string, unknown>) =>
    await (await gate.request(
      "POST",
      "/api/actions",
      { tool, input, session_id },
      "agent",
      headers,
    ))
      .json();
  const post = async (path: string, body: unknown) => {
    const answer = await gate.request("POST", `/api/remediation/${path}`, body);
    return { status: answer.status, body: await answer.json() };
  };
  return { gate, session_id, submit, post };
}

test("assesses an action, a session and a rollback of either", async () => {
  const { gate, session_id, submit, post } = await stage();
  const plain = await submit("write_file", { path: "src/a.ts", content: "new" });
  const ci = await submit("write_file", { path: ".github/workflows/ci.yml", content: "on: push" });
  expect(await post("assess", { action_id: ci.id })).toEqual({ status: 200, body: ci.risk });
  expect(ci.risk).toMatchObject({ level: "high" });
  const session = await post("assess", { session_id });
  expect(session.body).toMatchObject({ level: "high" });
  expect(session.body.score).toBeGreaterThanOrEqual(ci.risk.score);
  const before = await post("assess", { action_id: plain.id, rollback: true });
  expect(before.body.level).toBe("low");
  await submit("write_file", { path: "src/a.ts", content: "newer" });
  const after = await post("assess", { action_id: plain.id, rollback: true });
  expect(after.body.factors).toContainEqual(expect.objectContaining({ name: "changed_later" }));
  expect(after.body.level).toBe("medium");
  const whole = await post("assess", { session_id, rollback: true });
  expect(whole.body.factors).not.toContainEqual(expect.objectContaining({ name: "changed_later" }));
  expect(await post("assess", { session_id })).toEqual(await post("assess", { session_id }));
  await gate.close();
});

test("finds what a session did, and recommends calls that work", async () => {
  const { gate, session_id, submit, post } = await stage();
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
  expect((await post("recommend", { session_id })).body).toMatchObject([
    { strategy: "review_changes", score: 10 },
  ]);
  await submit("read_file", { path: ".env" });
  await submit("write_file", { path: "secret/x", content: "1" });
  await submit("write_file", { path: ".gitlab-ci.yml", content: "a: 1" });
  await submit("write_file", { path: ".gitlab-ci.yml", content: "a: 2" });
  const held = await submit("run_command", { command: "terraform apply" });
  const { body } = await post("evaluate-policy", { session_id });
  expect(body.compliant).toBe(false);
  expect(new Set(body.violations.map(({ rule }: { rule: string }) => rule))).toEqual(
    new Set(["secret_touched", "blocked_attempt", "unreviewed_overwrite", "unreviewed_risk"]),
  );
  const { body: advice } = await post("recommend", { session_id });
  const scores = advice.map(({ score }: { score: number }) => score);
  expect(scores).toEqual(scores.toSorted((a: number, b: number) => b - a));
  expect(advice.map(({ strategy }: { strategy: string }) => strategy)).toEqual(
    expect.arrayContaining([
      "reject_held",
      "rollback_risky_actions",
      "rollback_session",
      "end_session",
    ]),
  );
  for (const { call } of advice) {
    const answer = await gate.request(call.method, call.path, call.body ?? undefined);
    expect({ call, status: answer.status }).toMatchObject({ status: 200 });
  }
  expect(await (await gate.request("GET", `/api/actions/${held.id}`)).json()).toMatchObject({
    status: "rejected",
  });
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
  ["assess", {}, 400],
  ["assess", { action_id: "a", session_id: "b" }, 400],
  ["assess", { action_id: "none" }, 404],
  ["assess", { action_id: "\0" }, 404],
  ["assess", { session_id: "none" }, 404],
  ["assess", { session_id: "a\0b", rollback: true }, 404],
  ["assess", { session_id: 3 }, 400],
  ["assess", { session_id: "x", more: 1 }, 400],
  ["evaluate-policy", {}, 400],
  ["evaluate-policy", { session_id: "none" }, 404],
  ["recommend", [], 400],
  ["recommend", { session_id: "none" }, 404],
  ["recommend", { session_id: "x".repeat(65) }, 400],
])("%s with %j is answered with %d", async (path, body, status) => {
  const { post } = await stage();
  const answer = await post(path, body);
  expect(answer).toMatchObject({ status, body: { detail: expect.any(String) } });
});
