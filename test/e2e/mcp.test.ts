import type { ChildProcess } from "node:child_process";
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { identify } from "../../server/runtime/processes.ts";
import { connect, decide, heldAction, initialize, POLICIES, toolCall } from "./mcp_agent.ts";
import { until, World } from "./world.ts";

let world: World;

beforeAll(async () => {
  world = await World.create("executable");
  await world.init(POLICIES);
});

afterAll(async () => await world?.close());

describe("the process of gate mcp", () => {
  test("answers a probe before initialize, survives invalid input, and prints only JSON-RPC", async () => {
    const lines = [
      '{"jsonrpc":"2.0","id":"probe-1","method":"server/discover","params":{}}',
      "this is no JSON",
      '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":',
      '{"jsonrpc":"1.0","id":4,"method":"ping"}',
      initialize(0, "2025-06-18"),
      '{"jsonrpc":"2.0","method":"notifications/initialized"}',
      '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}',
      toolCall(5, "write_file", { path: "piped.txt", content: "piped" }),
    ];
    const { stdout, stderr, code } = await world.run(["mcp"], { input: lines.join("\n") + "\n" });
    const answers = stdout.trim().split("\n").map((line) => JSON.parse(line));
    const byId = new Map(answers.map((answer) => [answer.id, answer]));
    // Each request has one answer; JSON-RPC leaves their order open.
    expect(answers).toHaveLength(5);
    expect(["probe-1", 3, 4].map((id) => byId.get(id).error.code))
      .toEqual([-32601, -32700, -32600]);
    expect(Object.keys(byId.get(0).result))
      .toEqual(["protocolVersion", "capabilities", "serverInfo", "instructions"]);
    expect(byId.get(0).result.protocolVersion).toBe("2025-06-18");
    expect(byId.get(5).result.structuredContent.status).toBe("approved");
    expect(stderr).toContain("not valid JSON");
    expect(code).toBe(0);
    expect(readFileSync(join(world.project, "piped.txt"), "utf8")).toBe("piped");
  });

  test.each(["SIGTERM", "SIGINT"] as const)("ends its session on %s", async (signal) => {
    const child = world.spawn(["mcp"]);
    child.stdin!.write(initialize(1) + "\n" + toolCall(2, "project_info", {}) + "\n");
    const { session_id } = await infoFrom(child);
    child.kill(signal);
    await endOf(child);
    const { ended_at } = (await world.api("GET", `/api/sessions/${session_id}`)).body;
    expect(ended_at).toEqual(expect.any(String));
  });

  test("kills its running command when its host disconnects, and reports it", async () => {
    const child = world.spawn(["mcp"]);
    const mark = join(world.project, "running");
    const command =
      `(trap '' TERM; touch ${mark}; while :; do :; done) & echo $! > ${mark}.pid; wait`;
    child.stdin!.write(initialize(1) + "\n");
    child.stdin!.write(toolCall(2, "run_command", { command }) + "\n");
    await until(
      "the command runs",
      () => existsSync(mark) && /\d\n/.test(readFileSync(`${mark}.pid`, "utf8")),
    );
    child.stdin!.end();
    await endOf(child);
    const background = Number(readFileSync(`${mark}.pid`, "utf8"));
    await until("the command is gone", () => identify(background) === null);
    const { items } = (await world.api("GET", "/api/actions?tool=run_command&limit=1")).body;
    expect(items[0]).toMatchObject({ command, execution: "failed", exit_code: null });
    expect(items[0].error).toBeTruthy();
  });
});

describe("an agent on gate mcp", () => {
  test("twenty concurrent calls all execute", async () => {
    const agent = await connect(world);
    const paths = Array.from({ length: 20 }, (_, i) => `many/${i}.txt`);
    const answers = await Promise.all(
      paths.map((path) => agent.call("write_file", { path, content: path })),
    );
    expect(answers.map(({ body }) => body.execution)).toEqual(paths.map(() => "succeeded"));
    for (const path of paths) expect(read(path)).toBe(path);
    await agent.close();
  });

  test("content of 8 MB arrives complete, and content over the limit is refused", async () => {
    const agent = await connect(world);
    const content = "0123456789abcdé\n".repeat(500_000);
    expect((await agent.call("write_file", { path: "big", content })).body.execution)
      .toBe("succeeded");
    expect(read("big")).toBe(content);
    const { isError, body } = await agent.call("write_file", {
      path: "big",
      content: content + content + content,
    });
    expect(isError).toBe(true);
    expect(body.error.code).toBe("too_large");
    expect((await agent.call("project_info")).body.project).toBe("demo");
    await agent.close();
  });

  test("a held call survives a kill and a restart of the daemon", async () => {
    const agent = await connect(world);
    const answer = agent.call("write_file", { path: "held/a.txt", content: "kept" });
    const held = await heldAction(world);
    await world.kill(await world.daemonPid());
    const status = await until(
      "a daemon is back",
      async () => (await world.api("GET", "/api/daemon/status").catch(() => null))?.body,
    );
    expect(status.pid).toBeGreaterThan(0);
    await decide(world, held.id, "approve");
    expect((await answer).body).toMatchObject({ action_id: held.id, execution: "succeeded" });
    expect(read("held/a.txt")).toBe("kept");
    await agent.close();
  });

  test("an approved command whose client is gone runs in the session that awaits it", async () => {
    const first = await connect(world);
    const command = "printf 'by the %s' second";
    const { body } = await first.call("run_command", { command, wait_ms: 50 });
    expect(body).toMatchObject({ status: "pending", next_tool: "await_action" });
    await first.kill();
    await decide(world, body.action_id, "approve");
    const second = await connect(world);
    const found = await second.call("get_action", { action_id: body.action_id });
    expect(found.body).toMatchObject({ status: "approved", execution: "none" });
    const answers = await Promise.all(
      [1, 2].map(() => second.call("await_action", { action_id: body.action_id })),
    );
    for (const { body } of answers) {
      expect(body).toMatchObject({ execution: "succeeded", output: "by the second" });
    }
    await second.close();
  });

  test("an edited command runs in the agent's environment and folder", async () => {
    const agent = await connect(world, { env: { JAVA_HOME: "seen" } });
    const command = "printf mine; printenv JAVA_HOME; pwd";
    const answer = agent.call("run_command", { command });
    const held = await heldAction(world);
    const edited = "printenv JAVA_HOME; pwd";
    await decide(world, held.id, "approve-with-edit", { command: edited });
    const { body } = await answer;
    expect(body).toMatchObject({ edited: true, exit_code: 0, final_command: edited });
    expect(body.output).toBe(`seen\n${realpathSync(world.project)}\n`);
    expect(body.message).toContain("a reviewer changed it");
    await agent.close();
  });

  test("the result of an edited write shows the agent the reviewer's text", async () => {
    const agent = await connect(world);
    const answer = agent.call("write_file", { path: "held/b.txt", content: "mine\n" });
    const held = await heldAction(world);
    await decide(world, held.id, "approve-with-edit", { content: "ours\n" });
    const { body } = await answer;
    expect(body).toMatchObject({ edited: true, execution: "succeeded", final_content: "ours\n" });
    expect(body.diff).toMatch(/-mine\n\+ours\n/);
    expect(read("held/b.txt")).toBe("ours\n");
    await agent.close();
  });

  test("output over the cap is cut, and the result says so", async () => {
    const agent = await connect(world);
    const { body } = await agent.call("run_command", { command: "seq 1 20000" });
    expect(body).toMatchObject({ exit_code: 0, truncated: true });
    expect(body.output).toMatch(/^1\n2\n[^]*20000\n$/);
    expect(body.output.length).toBeLessThan(2_300);
    await agent.close();
  });

  test("a cancelled call leaves its action pending", async () => {
    const agent = await connect(world);
    const giveUp = new AbortController();
    const args = { path: "held/c.txt", content: "later" };
    const call = agent.client.callTool({ name: "write_file", arguments: args }, undefined, {
      signal: giveUp.signal,
    });
    const held = await heldAction(world);
    giveUp.abort();
    await expect(call).rejects.toThrow();
    await decide(world, held.id, "approve");
    expect((await agent.call("await_action", { action_id: held.id })).body.execution)
      .toBe("succeeded");
    expect(read("held/c.txt")).toBe("later");
    await agent.close();
  });

  test("a rollback restores the previous content", async () => {
    const agent = await connect(world);
    world.write("old.txt", "old");
    const { body } = await agent.call("write_file", { path: "old.txt", content: "new" });
    expect((await agent.call("rollback_action", { action_id: body.action_id })).body)
      .toMatchObject({ tool: "rollback", execution: "succeeded" });
    expect(read("old.txt")).toBe("old");
    expect((await agent.call("get_action", { action_id: body.action_id })).body.status)
      .toBe("rolled_back");
    await agent.close();
  });

  test("a rollback of a file that has changed since is refused and changes nothing", async () => {
    const agent = await connect(world);
    const { body } = await agent.call("write_file", { path: "shared.txt", content: "agent" });
    world.write("shared.txt", "person");
    const refused = await agent.call("rollback_action", { action_id: body.action_id });
    expect(refused.isError).toBe(true);
    expect(refused.body.message).toMatch(/^Nothing was done: .*shared\.txt/);
    expect(read("shared.txt")).toBe("person");
    await agent.close();
  });
});

/** The result of `project_info`, read from the child's output. */
async function infoFrom(child: ChildProcess): Promise<{ session_id: string }> {
  let printed = "";
  child.stdout!.on("data", (chunk) => printed += chunk);
  return await until(
    "project_info has answered",
    () =>
      printed.trim().split("\n").map((line) => JSON.parse(line || "{}").result?.structuredContent)
        .find(
          (info) => info?.session_id,
        ),
  );
}

function endOf(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => child.on("close", resolve));
}

function read(path: string): string {
  return readFileSync(join(world.project, path), "utf8");
}
