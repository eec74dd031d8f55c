import { expect, test } from "vitest";
import { createTestGate } from "../../../helpers.ts";

const HOSTILE = [
  "",
  " ",
  "\0",
  "a\0b",
  "\ud800",
  "\udfff\ud800",
  "\u202e\u2066",
  "__proto__",
  "'; DROP TABLE actions; --",
  "${jndi:ldap://x}",
  "../../../../etc/passwd",
  "\x1b[2J",
  "x".repeat(5_000),
  "é".repeat(2_000),
  "%00",
  "NaN",
  "-0",
];
const OTHERS = [null, true, 0, -1, 1e308, [], {}, [[]], { path: {} }];

test("no value of any field is answered with a server error", async () => {
  const gate = await createTestGate({
    policies: { defaultEffect: "allow", askPaths: ["held/**"] },
    files: { "held/a.txt": "old" },
  });
  const post = async (path: string, body: unknown) => {
    const response = await gate.request("POST", path, body);
    expect({ path, body, status: response.status }).toSatisfy(({ status }) => status < 500);
    return await response.json();
  };
  const held = async () => {
    gate.clock.advance(700_000);
    const input = { path: "held/a.txt", content: "new" };
    return (await post("/api/actions", { tool: "write_file", input })).id;
  };
  const command = async () => {
    const input = { command: "echo hi" };
    const { id } = await post("/api/actions", { tool: "run_command", input });
    return id;
  };
  for (const value of [...HOSTILE, ...OTHERS]) {
    for (
      const [tool, input] of [
        ["write_file", { path: value, content: "x" }],
        ["write_file", { path: "a", content: value }],
        ["write_file", { path: "a", content: value, encoding: "base64" }],
        ["edit_file", { path: "held/a.txt", edits: [{ old_text: value, new_text: value }] }],
        ["delete_file", { path: value }],
        ["move_file", { from: value, to: value }],
        ["read_file", { path: value }],
        ["run_command", { command: value }],
        ["run_command", { command: "ls", cwd: value }],
        ["rollback", { action_id: value }],
        [value, { a: value }],
        ["other", { [String(value)]: value }],
      ]
    ) await post("/api/actions", { tool, input });
    await post("/api/actions", { tool: "read_file", input: { path: "a" }, session_id: value });
    await post("/api/actions", { tool: "read_file", input: { path: "a" }, wait_ms: value });
    await post("/api/sessions", { agent: value, host: value, client: value });
    await post(`/api/actions/${await held()}/approve`, { reason: value });
    await post(`/api/actions/${await held()}/approve`, { expected_digest: value });
    await post(`/api/actions/${await held()}/reject`, { reason: value });
    await post(`/api/actions/${await held()}/cancel`, { reason: value });
    await post(`/api/actions/${await held()}/approve-with-edit`, { content: value });
    await post(`/api/actions/${await held()}/approve-with-edit`, { command: value });
    const id = await command();
    const { claim_id } = await post(`/api/actions/${id}/claim`, { holder: value });
    const result = { exit_code: 0, output: value, truncated: false, duration_ms: 1, error: value };
    await post(`/api/actions/${id}/result`, { claim_id, ...result });
    await post(`/api/actions/${id}/result`, { ...result, claim_id: value });
    for (const name of ["cursor", "path", "agent", "tool", "session_id"]) {
      const query = new URLSearchParams({ [name]: String(value) });
      const response = await gate.request("GET", `/api/actions?${query}`);
      expect(response.status).toBeLessThan(500);
    }
  }
  const { items } = await gate.project.actions.list({ limit: 500 });
  for (const { id } of items) expect((await gate.project.actions.detail(id)).id).toBe(id);
  expect(await gate.project.audit.verify()).toMatchObject({ ok: true });
}, 180_000);

test("a lone surrogate in a policy breaks no route that shows its decisions", async () => {
  const gate = await createTestGate({
    policies: {
      defaultEffect: "ask",
      blockedPaths: [{ pattern: "{secret.txt,\ud800}", reason: "\ud801", alternative: "\ud802" }],
      askPaths: ["{held.txt,\udfff}"],
    },
  });
  for (const path of ["secret.txt", "held.txt"]) {
    const input = { path, content: "x" };
    const asked = await gate.request(
      "POST",
      "/api/actions",
      { tool: "write_file", input },
      "agent",
    );
    const { id } = await asked.json();
    const { decision } = await (await gate.request("GET", `/api/actions/${id}`)).json();
    expect(decision.rule.pattern).toContain("\ufffd");
    if (path === "held.txt") await gate.request("POST", `/api/actions/${id}/approve`, {});
  }
  for (const path of ["analytics/summary", "policy/hits", "audit/export?format=csv", "actions"]) {
    const answer = await gate.request("GET", `/api/${path}`);
    expect([path, answer.status]).toEqual([path, 200]);
    expect(await answer.text()).toContain(path === "actions" ? "secret.txt" : "");
  }
});

test("a search path with more folders than anybody has is refused", async () => {
  const gate = await createTestGate({ policies: { defaultEffect: "allow" } });
  const submit = async (folders: number) => {
    const search_path = `${"/a:".repeat(folders)}/bin`;
    const body = { tool: "run_command", input: { command: "ls" }, search_path };
    return (await gate.request("POST", "/api/actions", body)).status;
  };
  expect(await submit(999)).toBe(201);
  expect(await submit(1_000)).toBe(400);
});
