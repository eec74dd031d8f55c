import { expect, test } from "vitest";
import { z } from "zod";
import { TOOLS } from "../../../server/mcp/tools.ts";
import { connectAgent, jumping } from "./agent.ts";

test("the tools are listed with what a host needs to know of each", async () => {
  const agent = await connectAgent();
  const { tools } = await agent.client.listTools();
  expect(tools.map(({ name }) => name)).toEqual([
    "write_file",
    "edit_file",
    "delete_file",
    "move_file",
    "read_file",
    "run_command",
    "scenario_run",
    "submit_plan",
    "await_action",
    "get_action",
    "rollback_action",
    "policy_check",
    "project_info",
  ]);
  for (const tool of tools) {
    expect(tool.title, tool.name).toBeTruthy();
    expect(tool.description!.length, tool.name).toBeLessThan(400);
    expect(typeof tool.annotations!.readOnlyHint, tool.name).toBe("boolean");
    expect(tool.inputSchema, tool.name).toMatchObject({
      type: "object",
      additionalProperties: false,
    });
    expect(tool.outputSchema, tool.name).toMatchObject({ type: "object", required: ["message"] });
  }
  expect(agent.client.getInstructions()).toContain("await_action");
  expect(agent.client.getServerVersion()).toMatchObject({ name: "gate" });
  await agent.close();
});

test("only tools that change nothing say so", () => {
  const reading = TOOLS.filter(({ annotations }) => annotations.readOnlyHint);
  expect(reading.map(({ name }) => name)).toEqual([
    "read_file",
    "get_action",
    "policy_check",
    "project_info",
  ]);
});

test.each([
  ["write_file", { path: "a.txt", content: "x" }, { status: "approved", message: "Done." }],
  ["read_file", { path: "a.txt" }, { status: "approved", content: "what it holds" }],
  ["edit_file", { path: "a", edits: [{ old_text: "a", new_text: "" }] }, { status: "approved" }],
  ["delete_file", { path: "a.txt" }, { status: "approved" }],
  ["move_file", { from: "a", to: "b" }, { status: "approved" }],
  ["rollback_action", { action_id: "x" }, { tool: "rollback", status: "approved" }],
  ["run_command", { command: "echo $JAVA_HOME; exit 3" }, { exit_code: 3, output: "yes\n" }],
  ["submit_plan", { title: "T", steps: [{ tool: "delete_file", input: { path: "a" } }] }, {
    tool: "submit_plan",
    status: "approved",
    message: expect.stringContaining("Nothing was done so far: call the tool of each step"),
  }],
  ["policy_check", { path: ".env", action: "write" }, {
    effect: "deny",
    rule: { pattern: ".env" },
  }],
  ["project_info", {}, { project: "p1", detected_by: "cwd" }],
])("%s answers what came of it", async (name, args, expected) => {
  const agent = await connectAgent();
  expect(await agent.call(name, args)).toMatchObject({ isError: false, body: expected });
  await agent.close();
});

test("what is remembered for its session counts when an agent asks what policy says", async () => {
  const agent = await connectAgent();
  await agent.call("policy_check", { command: "ls" });
  const [session] = agent.daemon.sessions;
  expect(agent.daemon.questions).toEqual([{ command: "ls", session_id: session!.id }]);
  const foreign = await agent.call("policy_check", { command: "ls", session_id: "another" });
  expect(foreign.isError).toBe(true);
  await agent.close();
});

test("a refusal is a result that says by which rule, why, and what else to do", async () => {
  const agent = await connectAgent();
  expect(await agent.call("write_file", { path: ".env", content: "x" })).toMatchObject({
    isError: true,
    body: {
      status: "blocked",
      execution: "none",
      decision: { effect: "deny" },
      rule: { pattern: ".env", list: "blockedPaths", source: "project" },
      reason: "secrets stay out",
      alternative: "use .env.example",
    },
  });
  await agent.close();
});

test.each([
  ["write_file", { path: "a" }, "content"],
  ["write_file", { path: 1, content: "x" }, "path"],
  ["write_file", { path: "a", content: "x", mode: "0777" }, "mode"],
  ["run_command", { command: "" }, "command"],
  ["submit_plan", { title: "T", steps: [] }, "steps"],
  ["submit_plan", { title: "T", steps: [{ tool: "submit_plan", input: {} }] }, "steps.0.tool"],
  ["await_action", { action_id: "x", wait_ms: 1e9 }, "wait_ms"],
])("%s refuses wrong arguments %j and names them", async (name, args, named) => {
  const agent = await connectAgent();
  const { isError, body } = await agent.call(name, args);
  expect(isError).toBe(true);
  expect(body.error).toMatchObject({ code: "invalid" });
  expect(String(body.message)).toContain(named);
  expect(agent.daemon.calls).toEqual([]);
  await agent.close();
});

test.each<[string, string, unknown, number]>([
  ["no name", "tools/call", { arguments: {} }, -32602],
  ["a name that is no text", "tools/call", { name: 5 }, -32602],
  ["a list of arguments", "tools/call", { name: "get_action", arguments: ["x"] }, -32602],
  ["no parameters", "tools/call", undefined, -32602],
  ["another method", "tools/run", { name: "get_action" }, -32601],
])("a call with %s is refused by its code", async (_what, method, params, code) => {
  const agent = await connectAgent();
  const request = agent.client.request({ method, params } as never, z.unknown() as never);
  await expect(request).rejects.toMatchObject({ code });
  expect(agent.daemon.calls).toEqual([]);
  await agent.close();
});

test("an unknown tool and an unknown action are told apart", async () => {
  const agent = await connectAgent();
  await expect(agent.call("rm_rf", {})).rejects.toMatchObject({ code: -32602 });
  expect(await agent.call("await_action", { action_id: "nope" })).toMatchObject({
    isError: true,
    body: { error: { code: "not_found" } },
  });
  await agent.close();
});

test("one session per connection, opened when needed, named after the host, ended", async () => {
  const agent = await connectAgent();
  expect(agent.daemon.sessions).toEqual([]);
  const write = (path: string) => agent.call("write_file", { path, content: "x" });
  await Promise.all([write("a"), write("b"), write("c")]);
  expect(agent.daemon.sessions).toMatchObject([{
    agent: "claude-code",
    host: "claude-code",
    client: "claude-code 2.1",
    root: agent.folder,
    project: "p1",
    detected_by: "cwd",
    ended: false,
  }]);
  await agent.close();
  expect(agent.daemon.sessions).toMatchObject([{ ended: true }]);
});

test("without a daemon nothing is done, and the answer says what to do", async () => {
  const agent = await connectAgent({ now: jumping() });
  agent.daemon.away = true;
  const { isError, body } = await agent.call("write_file", { path: "a", content: "x" });
  expect(isError).toBe(true);
  expect(body.error).toMatchObject({ code: "unavailable" });
  expect(String(body.message)).toContain("gate daemon start");
  await agent.close();
});

test("a credential that was replaced meanwhile is read again", async () => {
  const agent = await connectAgent();
  await agent.call("project_info");
  agent.daemon.token = "second";
  expect((await agent.call("read_file", { path: "a" })).body.status).toBe("approved");
  expect(agent.daemon.connects).toBe(2);
  await agent.close();
});
