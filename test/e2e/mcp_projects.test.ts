import { existsSync, mkdirSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TOOLS } from "../../server/mcp/tools.ts";
import { identify } from "../../server/runtime/processes.ts";
import { connect, connectOverHttp, decide, heldAction, initialize, POLICIES } from "./mcp_agent.ts";
import { must, until, World } from "./world.ts";

let world: World;

beforeAll(async () => {
  world = await World.create("executable");
  await world.init(POLICIES);
});

afterAll(async () => await world?.close());

describe("the project of a tool call", () => {
  test.each([
    ["a root of the client", "mcp_root"],
    ["Codex's workspace", "codex_workspace"],
    ["CLAUDE_PROJECT_DIR", "claude_project_dir"],
  ])("is found by %s, and the session says so", async (_, rule) => {
    const { project, folder } = world;
    const agent = await connect(world, {
      cwd: folder,
      ...(rule === "mcp_root" ? { roots: [project] } : {}),
      ...(rule === "claude_project_dir" ? { env: { CLAUDE_PROJECT_DIR: project } } : {}),
    });
    const turn = { workspaces: rule === "codex_workspace" ? { [project]: {} } : {} };
    const { structuredContent } = await agent.client.callTool({
      name: "project_info",
      arguments: {},
      _meta: { "x-codex-turn-metadata": turn },
    });
    const root = realpathSync(project);
    expect(structuredContent).toMatchObject({ project: "demo", root, detected_by: rule });
    await agent.close();
  });

  test("is the machine's own ledger when gate finds none, and a write waits there", async () => {
    const agent = await connect(world, { cwd: "/" });
    const { body } = await agent.call("write_file", { path: "x", content: "", wait_ms: 0 });
    expect(body).toMatchObject({ status: "pending", project: "machine" });
    expect((await agent.call("project_info", { project: "demo" })).body.detected_by)
      .toBe("argument");
    await agent.close();
  });

  test("gate registers a folder with a config when the host starts there, not from an argument", async () => {
    const folder = join(world.folder, "cloned");
    mkdirSync(folder);
    world.write(
      "../cloned/gate.config.json",
      '{"id":"cloned","policies":{"defaultEffect":"allow"}}',
    );
    const agent = await connect(world);
    const refused = await agent.call("run_command", { command: "echo hi", project: folder });
    expect(refused.body.error.code).toBe("project_required");
    await agent.close();
    const inside = await connect(world, { cwd: folder });
    expect((await inside.call("project_info")).body).toMatchObject({ project: "cloned" });
    await inside.close();
  });
});

describe("POST /mcp on the daemon", () => {
  test("offers the same tools, holds, and runs commands itself", async () => {
    const agent = await connectOverHttp(world, "agent");
    const { tools } = await agent.client.listTools();
    expect(tools.length).toBe(TOOLS.length);
    const held = agent.call("write_file", {
      path: "held/http.txt",
      content: "http",
      project: "demo",
    });
    await decide(world, (await heldAction(world)).id, "approve");
    expect((await held).body).toMatchObject({ execution: "succeeded" });
    const ran = agent.call("run_command", { command: "printf daemon", project: "demo" });
    await decide(world, (await heldAction(world)).id, "approve");
    expect((await ran).body).toMatchObject({ output: "daemon", exit_code: 0 });
    const blocked = await agent.call("write_file", { path: ".env", content: "", project: "demo" });
    expect(blocked).toMatchObject({ isError: true, body: { rule: { pattern: ".env" } } });
    await agent.close();
  });

  test.each([
    ["no credential", { authorization: "" }, 401],
    ["another origin", { origin: "http://evil.example" }, 403],
    ["a viewer", { authorization: "viewer" }, 403],
    ["no JSON", { "content-type": "text/plain" }, 415],
  ])("refuses %s", async (_, headers, status) => {
    const scope = "authorization" in headers ? headers.authorization : "agent";
    const authorization = scope ? `Bearer ${await world.token(scope)}` : "";
    const response = await fetch(`http://127.0.0.1:${world.port}/mcp`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...headers,
        authorization,
      },
      body: initialize(1),
    });
    expect(response.status).toBe(status);
    await response.body?.cancel();
  });

  test("a stopping daemon kills its running command and reports it", async () => {
    const agent = await connectOverHttp(world, "agent");
    const mark = join(world.project, "running");
    const command = `echo $$ > ${mark}; while :; do :; done`;
    const args = { command, project: "demo", wait_ms: 1_500 };
    const { body } = await agent.call("run_command", args);
    expect(body).toMatchObject({ execution: "running", next_tool: "await_action" });
    const pid = await until("the command runs", () => Number(readText(mark)));
    must(await world.run(["daemon", "stop"]));
    await until("the command is gone", () => identify(pid) === null);
    must(await world.run(["daemon", "start"]));
    expect((await world.api("GET", `/api/actions/${body.action_id}`)).body)
      .toMatchObject({ execution: "failed", exit_code: null });
    await agent.close();
  });
});

function readText(path: string): string {
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}
