import { expect, test } from "vitest";
import { createTestGate, type TestGate } from "../../helpers.ts";

const POLICIES = {
  defaultEffect: "allow" as const,
  askPaths: ["held/**"],
  askCommands: ["printf"],
};

/** A client of the daemon's `/mcp` with a session id of its own. */
async function connect(gate: TestGate, name = "codex") {
  let session: Record<string, string> = {};
  const send = async (method: string, params: unknown) => {
    const headers = { accept: "application/json, text/event-stream", ...session };
    const body = { jsonrpc: "2.0", id: 1, method, params };
    const request = { ...headers, "content-type": "application/json" };
    const response = await gate.request("POST", "/mcp", body, "agent", request);
    const text = await response.text();
    const id = response.headers.get("mcp-session-id");
    if (id !== null) session = { "mcp-session-id": id };
    return JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text).result;
  };
  await send("initialize", {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name, version: "1" },
  });
  const call = async (tool: string, args: Record<string, unknown>) => {
    const { isError = false, structuredContent } = await send("tools/call", {
      name: tool,
      arguments: { ...args, ...WAITS.has(tool) && { wait_ms: 0 } },
    });
    return { isError, body: structuredContent };
  };
  return { call };
}

const WAITS = new Set(["write_file", "run_command", "await_action", "rollback_action"]);

test("two agents at once: none reaches the other's actions", async () => {
  const gate = await createTestGate({ policies: POLICIES });
  const [alice, bob] = await Promise.all([connect(gate), connect(gate)]);
  const { body: done } = await alice.call("write_file", { path: "a.txt", content: "hers" });
  const { body: held } = await alice.call("write_file", { path: "held/a", content: "hers" });
  const { body: command } = await alice.call("run_command", { command: "printf hers" });
  await gate.request("POST", `/api/actions/${command.action_id}/approve`, {});
  const his = await bob.call("write_file", { path: "b.txt", content: "his" });
  const before = await gate.audit();
  for (const { action_id } of [done, held, command]) {
    for (const tool of ["get_action", "await_action", "rollback_action"]) {
      expect(await bob.call(tool, { action_id }), tool)
        .toMatchObject({ isError: true, body: { error: { code: "not_found" } } });
    }
  }
  expect(await gate.audit()).toEqual(before);
  // A wrong id costs nobody the session.
  expect(await bob.call("rollback_action", { action_id: his.body.action_id }))
    .toMatchObject({ isError: false });
  for (const { action_id } of [done, held]) {
    expect(await alice.call("get_action", { action_id })).toMatchObject({ isError: false });
  }
  expect((await alice.call("await_action", { action_id: command.action_id, wait_ms: 5_000 })).body)
    .toMatchObject({ action_id: command.action_id });
});

test("an agent finds its action after its session was ended", async () => {
  const gate = await createTestGate({ policies: POLICIES });
  const agent = await connect(gate);
  const { body } = await agent.call("write_file", { path: "held/a", content: "x" });
  const { session_id } = (await agent.call("project_info", {})).body;
  await gate.request("POST", `/api/sessions/${session_id}/end`, {});
  expect((await agent.call("get_action", { action_id: body.action_id })).body)
    .toMatchObject({ action_id: body.action_id });
});
