import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Ended, must, until, type World } from "../e2e/world.ts";
import { createHostWorld } from "./host_world.ts";
import { type ScriptedCall, startModel } from "./scripted_model.ts";

/** Claude Code with gate's hooks for its own tools, offline against a scripted model. */
describe("Claude Code with gate's hooks", () => {
  let world: World;

  beforeAll(async () => {
    world = await createHostWorld();
    mkdirSync(join(world.home, ".claude"));
    await world.init({
      defaultEffect: "ask",
      allowedPaths: ["src/**"],
      blockedPaths: [{ pattern: ".env", reason: "secrets stay with people" }],
      allowedCommands: ["echo"],
      blockedCommands: [{ pattern: "touch", reason: "write files with Write" }],
    });
    must(await world.run(["global-setup", "--enforce", "--host", "claude-code"]));
  });

  afterAll(() => world.close());

  /** Runs one session. The host allows everything, so only gate refuses. */
  const session = async (calls: ScriptedCall[], during?: () => Promise<unknown>) => {
    const model = await startModel(calls);
    const child = spawn("claude", ["-p", "Do it.", "--permission-mode", "bypassPermissions"], {
      cwd: world.project,
      env: {
        ...world.env,
        ANTHROPIC_BASE_URL: model.url,
        ANTHROPIC_API_KEY: "none",
        ENABLE_TOOL_SEARCH: "false",
        IS_SANDBOX: "1",
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const output = { stdout: "", stderr: "" };
    child.stdout.on("data", (chunk) => output.stdout += chunk);
    child.stderr.on("data", (chunk) => output.stderr += chunk);
    const ended = new Promise<Ended>((resolve, reject) => {
      child.on("error", reject);
      child.on("close", (code) => resolve({ code, ...output }));
    });
    await during?.();
    expect(await ended).toMatchObject({ code: 0, stdout: "All done.\n" });
    model.close();
    return model.results;
  };
  const path = (name: string) => join(world.project, name);
  const actions = async () => (await world.api("GET", "/api/actions")).body.items;
  const held = () =>
    until("a call is held", async () => {
      const { body } = await world.api("GET", "/api/actions?status=pending");
      return body.items?.[0];
    }, 60_000);

  test("gate blocks its Write and Bash, with the rule and the reason", async () => {
    const [wrote, touched, ran] = await session([
      { name: "Write", input: { file_path: path(".env"), content: "S=1" } },
      { name: "Bash", input: { command: `touch ${path("made")}`, description: "x" } },
      { name: "Bash", input: { command: "echo allowed", description: "x" } },
    ]);
    expect(wrote).toMatch(/Blocked by gate: secrets stay with people \(rule \S+env/);
    expect(touched).toMatch(/Blocked by gate: write files with Write/);
    expect(ran).toContain("allowed");
    expect([existsSync(path(".env")), existsSync(path("made"))]).toEqual([false, false]);
    const [last, ...blocked] = await actions();
    expect(last).toMatchObject({ tool: "Bash", agent: "claude-code", execution: "succeeded" });
    expect(blocked).toMatchObject([{ status: "blocked" }, { status: "blocked" }]);
  });

  test("gate records its edits with before-images and rolls them back", async () => {
    world.write("src/old.txt", "one\ntwo\n");
    await session([
      { name: "Read", input: { file_path: path("src/old.txt") } },
      {
        name: "Edit",
        input: { file_path: path("src/old.txt"), old_string: "two", new_string: "deux" },
      },
      { name: "Write", input: { file_path: path("src/deep/new.txt"), content: "new\n" } },
    ]);
    expect(readFileSync(path("src/old.txt"), "utf8")).toBe("one\ndeux\n");
    const [write, edit, read] = await actions();
    expect(read).toMatchObject({ tool: "Read", execution: "succeeded" });
    for (const [action, tool] of [[write, "Write"], [edit, "Edit"]] as const) {
      expect(action).toMatchObject({ tool, status: "approved", execution: "succeeded" });
      must(await world.run(["rollback", action.id]));
    }
    expect(readFileSync(path("src/old.txt"), "utf8")).toBe("one\ntwo\n");
    expect(existsSync(path("src/deep"))).toBe(false);
  });

  test("a held call waits for a person, and gate's MCP tools are held only once", async () => {
    const results = await session([
      { name: "Write", input: { file_path: path("held.txt"), content: "native\n" } },
      { name: "mcp__gate__write_file", input: { path: "gated.txt", content: "gated\n" } },
      { name: "WebFetch", input: { url: "http://127.0.0.1:9/", prompt: "x" } },
    ], async () => {
      for (const verb of [["approve"], ["approve"], ["reject", "--reason", "not today"]]) {
        const { id } = await held();
        must(await world.run([...verb, id]));
        await until("the action is reviewed", async () => {
          return (await world.api("GET", `/api/actions/${id}/status`)).body.status !== "pending";
        });
      }
    });
    expect(readFileSync(path("held.txt"), "utf8")).toBe("native\n");
    expect(readFileSync(path("gated.txt"), "utf8")).toBe("gated\n");
    expect(results[1]).toContain("succeeded");
    expect(results[2]).toMatch(/Rejected by a person/);
    const tools = (await actions()).slice(0, 3).map(({ tool }: { tool: string }) => tool);
    expect(tools).toEqual(["WebFetch", "write_file", "Write"]);
  });

  test("a call is refused before the host stops waiting if the daemon hangs", async () => {
    const command = "echo hung > src/hung.txt";
    const call = { name: "Bash", input: { command, description: "x" } };
    const [refused] = await world.whileFrozen(() => session([call]));
    expect(refused).toContain("Blocked by gate: the daemon does not answer");
    expect(existsSync(path("src/hung.txt"))).toBe(false);
    await session([call]);
    expect(existsSync(path("src/hung.txt"))).toBe(true);
  });

  test("the hook starts a stopped daemon, and refuses the call if it cannot", async () => {
    must(await world.run(["daemon", "stop"]));
    const call = { name: "Bash", input: { command: "echo back", description: "x" } };
    expect((await session([call]))[0]).toContain("back");
    must(await world.run(["daemon", "stop"]));
    const settings = join(world.home, ".claude", "settings.json");
    const text = readFileSync(settings, "utf8");
    writeFileSync(settings, text.replaceAll("GATE_PORT=", "GATE_HOME=/dev/null GATE_PORT="));
    expect((await session([call]))[0]).toMatch(/Blocked by gate/);
    writeFileSync(
      settings,
      text.replaceAll(/\S+ hook claude-code/g, "/gone/gate hook claude-code"),
    );
    const [refused] = await session([call]);
    expect(refused).not.toContain("back");
    expect(refused).toContain("Blocked by gate: its hook failed: /gone/gate hook claude-code");
    writeFileSync(settings, text);
  });
});
