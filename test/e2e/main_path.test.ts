import { existsSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openChromium } from "../browser/chromium.ts";
import { Agent, heldAction } from "./agent.ts";
import { must, World } from "./world.ts";

// The tests depend on each other and run in order.
describe.sequential("the main path of an action, on the executable", () => {
  let world: World;
  let agent: Agent;
  let browser: Awaited<ReturnType<typeof openChromium>>;
  const ids: Record<string, string> = {};
  const read = (path: string) => readFileSync(join(world.project, path), "utf8");

  beforeAll(async () => {
    world = await World.create("executable");
    await world.init();
    browser = await openChromium();
    agent = await Agent.connect(world);
  });

  afterAll(async () => {
    await agent?.close();
    await browser?.close();
    await world?.close();
  });

  test("gate mcp offers every tool", async () => {
    expect(await agent.toolNames()).toEqual(expect.arrayContaining([
      "write_file",
      "edit_file",
      "delete_file",
      "move_file",
      "read_file",
      "run_command",
      "submit_plan",
      "await_action",
      "get_action",
      "rollback_action",
      "policy_check",
      "project_info",
    ]));
  });

  test("a write that policy allows executes at once", async () => {
    const { isError, data } = await agent.call("write_file", {
      path: "src/a.txt",
      content: "one\n",
    });
    expect({ isError, ...data }).toMatchObject({
      isError: false,
      status: "approved",
      execution: "succeeded",
    });
    expect(read("src/a.txt")).toBe("one\n");
    ids["allowed"] = data.action_id;
  });

  test("a write to .env is blocked with rule, reason and alternative", async () => {
    const { isError, data, text } = await agent.call("write_file", {
      path: ".env",
      content: "K=1",
    });
    expect(isError).toBe(true);
    expect(data).toMatchObject({
      status: "blocked",
      execution: "none",
      decision: {
        effect: "deny",
        rule: { pattern: ".env", list: "blockedPaths", source: "project" },
        reason: expect.stringContaining("secrets stay with people"),
        alternative: "write .env.example",
      },
    });
    expect(text).toContain("secrets stay with people");
    expect(existsSync(join(world.project, ".env"))).toBe(false);
  });

  test("a held write executes when a person approves it in the browser, and the call returns", async () => {
    world.write("docs/guide.md", "before\n", 0o640);
    const waiting = agent.call("write_file", { path: "docs/guide.md", content: "after\n" });
    const { id } = await heldAction(world);
    expect(read("docs/guide.md")).toBe("before\n");
    const { stdout } = must(await world.run(["dashboard", "--no-open"]));
    const link = stdout.match(/http:\/\/\S+/)![0];
    const page = await browser.newPage();
    await page.goto(link);
    await page.getByText("docs/guide.md").first().waitFor();
    await page.getByRole("button", { name: /^Approve\b/ }).first().click();
    expect((await waiting).data).toMatchObject({
      action_id: id,
      status: "approved",
      execution: "succeeded",
    });
    expect(read("docs/guide.md")).toBe("after\n");
    expect(statSync(join(world.project, "docs/guide.md")).mode & 0o777).toBe(0o640);
    ids["approved"] = id;
    await page.close();
  });

  test("a held write executes on approval, even after its client was killed", async () => {
    const second = await Agent.connect(world);
    const lost = second.call("write_file", { path: "docs/late.md", content: "late\n" })
      .catch((error: Error) => error);
    const { id } = await heldAction(world);
    await second.kill();
    expect(await lost).toBeInstanceOf(Error);
    const action = await world.json(["approve", id, "--json"]);
    expect(action).toMatchObject({ status: "approved", execution: "succeeded" });
    expect(read("docs/late.md")).toBe("late\n");
  });

  test("a held command runs with the reviewer's edit, and its output is capped", async () => {
    const waiting = agent.call("run_command", { command: "seq 1 3 > docs/n.txt" });
    const held = await heldAction(world);
    expect(existsSync(join(world.project, "docs/n.txt"))).toBe(false);
    const { status } = await world.api("POST", `/api/actions/${held.id}/approve-with-edit`, {
      command: "seq 100000 199999",
      expected_digest: held.digest,
      reason: "only show it",
    });
    expect(status).toBe(200);
    const { data, text } = await waiting;
    expect(data).toMatchObject({
      action_id: held.id,
      status: "approved",
      execution: "succeeded",
      edited: true,
      exit_code: 0,
    });
    expect(JSON.stringify(data)).toContain("seq 100000 199999");
    const output: string = data.output?.text ?? data.output ?? text;
    expect(output.startsWith("100000\n100001\n")).toBe(true);
    expect(output.trimEnd().endsWith("199999")).toBe(true);
    expect(output.length).toBeLessThan(2500);
    expect(existsSync(join(world.project, "docs/n.txt"))).toBe(false);
  });

  test("a rollback restores the bytes and the mode", async () => {
    must(await world.run(["rollback", ids["approved"]!]));
    expect(read("docs/guide.md")).toBe("before\n");
    expect(statSync(join(world.project, "docs/guide.md")).mode & 0o777).toBe(0o640);
    const { body } = await world.api("GET", `/api/actions/${ids["approved"]}/status`);
    expect(body).toMatchObject({ status: "rolled_back" });
  });

  test("a rollback is refused when the file has changed since", async () => {
    world.write("src/a.txt", "a person's work\n");
    const { status, body } = await world.api("POST", `/api/actions/${ids["allowed"]}/rollback`);
    expect({ status, code: body.code }).toEqual({ status: 409, code: "conflict" });
    expect(read("src/a.txt")).toBe("a person's work\n");
    const refused = await world.run(["rollback", ids["allowed"]!]);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('"src/a.txt" changed since');
  });

  test("a replay of a rolled-back action is a new action", async () => {
    const { status, body } = await world.api("POST", `/api/actions/${ids["approved"]}/replay`);
    expect(status).toBe(202);
    expect(body).toMatchObject({
      status: "pending",
      replay_of: ids["approved"],
      tool: "write_file",
    });
    expect(body.id).not.toBe(ids["approved"]);
    must(await world.run(["approve", body.id]));
    expect(read("docs/guide.md")).toBe("after\n");
  });

  test("audit verify finds the chain intact", async () => {
    const verified = await world.run(["audit", "verify"]);
    expect({ code: verified.code, stderr: verified.stderr }).toEqual({ code: 0, stderr: "" });
    const { body } = await world.api("GET", "/api/audit/verify?project=demo");
    expect(body).toMatchObject({ ok: true });
    rmSync(join(world.project, "src"), { recursive: true });
  });
});
