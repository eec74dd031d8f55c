import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Ended, must, until, type World } from "../e2e/world.ts";
import { createHostWorld } from "./host_world.ts";
import { startModel } from "./scripted_model.ts";

/** The real host programs, in their own home, without network or API key. */
describe("the real host programs", () => {
  let world: World;

  beforeAll(async () => {
    world = await createHostWorld();
    mkdirSync(join(world.home, ".gemini"));
    const trusted = JSON.stringify({ [world.project]: "TRUST_FOLDER" });
    writeFileSync(join(world.home, ".gemini", "trustedFolders.json"), trusted);
    await world.init({ defaultEffect: "ask", blockedPaths: [".env"] });
  });

  afterAll(() => world.close());

  const call = (program: string, args: string[], env = {}): Promise<Ended> => {
    const child = spawn(program, args, {
      cwd: world.project,
      env: { ...world.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const output = { stdout: "", stderr: "" };
    child.stdout.on("data", (chunk) => output.stdout += chunk);
    child.stderr.on("data", (chunk) => output.stderr += chunk);
    return new Promise((resolve, reject) => {
      child.on("error", reject);
      child.on("close", (code) => resolve({ code, ...output }));
    });
  };
  const setUp = () => world.json(["global-setup", "--json"]);
  const outcomes = ({ hosts }: { hosts: { host: string; outcome: string }[] }) =>
    Object.fromEntries(hosts.map(({ host, outcome }) => [host, outcome]));

  test("global-setup finds each host by its program and adds the entry", async () => {
    const done = await setUp();
    const found = ["claude-code", "copilot-cli", "codex", "gemini-cli", "qwen-code", "opencode"];
    for (const host of found) expect(outcomes(done)).toMatchObject({ [host]: "added" });
    const claude = done.hosts.find(({ host }: { host: string }) => host === "claude-code");
    expect(claude).toMatchObject({ via: "claude" });
    const again = outcomes(await setUp());
    for (const host of found) expect(again).toMatchObject({ [host]: "unchanged" });
  });

  const LISTS: [string, RegExp][] = [
    ["claude", /gate: .*gate mcp - ✔ Connected/],
    ["codex", /^gate +\/.*gate +mcp .*enabled/m],
    ["copilot", /gate \(local\)/],
    ["gemini", /✓ gate: .*gate mcp \(stdio\) - Connected/],
    ["qwen", /✓.* gate: .*gate mcp \(stdio\) - Connected/],
    ["opencode", /✓ gate.*connected/],
  ];

  test.each(LISTS)("%s lists the server, as connected if it checks that", async (program, line) => {
    const { stdout, stderr } = await call(program, ["mcp", "list"]);
    expect(stdout + stderr).toMatch(line);
  });

  test("the hosts read the time-outs", async () => {
    expect((await call("claude", ["mcp", "get", "gate"])).stdout).toContain("3600000ms");
    const codex = JSON.parse((await call("codex", ["mcp", "get", "gate", "--json"])).stdout);
    expect(codex).toMatchObject({ tool_timeout_sec: 3600, startup_timeout_sec: 20 });
    const copilot = JSON.parse((await call("copilot", ["mcp", "get", "gate", "--json"])).stdout);
    expect(JSON.stringify(copilot)).toContain("3600000");
  });

  test("cleanup-mcp removes the project entries that the hosts write themselves", async () => {
    const gate = world.command([])[0]!;
    const old = [gate, "mcp", "--project", "demo"];
    const entry = JSON.stringify({ type: "stdio", command: gate, args: old.slice(1) });
    for (const scope of ["user", "local", "project"]) {
      must(await call("claude", ["mcp", "add-json", "--scope", scope, "gate-demo", entry]));
    }
    must(await call("codex", ["mcp", "add", "gate-demo", "--", ...old]));
    must(await call("codex", ["mcp", "add", "mine", "--", "npx", "mine"]));
    must(await call("copilot", ["mcp", "add", "gate-demo", "--", ...old]));
    must(await call("gemini", ["mcp", "add", "-s", "user", "gate-demo", ...old.slice(0, 2)]));
    must(await call("qwen", ["mcp", "add", "-s", "user", "gate-demo", ...old.slice(0, 2)]));
    must(await call("opencode", ["mcp", "add", "gate-demo", "--", ...old]));
    const { files } = await world.json(["cleanup-mcp", "--json"]);
    const removed = files.flatMap((one: { host: string; removed: unknown[] }) =>
      one.removed.map(() => one.host)
    );
    expect(removed.sort()).toEqual([
      ...["claude-code", "claude-code", "claude-code"],
      ...["codex", "copilot-cli", "gemini-cli", "opencode", "qwen-code"],
    ]);
    for (const [program, line] of LISTS) {
      const { stdout, stderr } = await call(program, ["mcp", "list"]);
      expect(stdout + stderr).toMatch(line);
      expect(stdout + stderr).not.toContain("gate-demo");
    }
    expect((await call("codex", ["mcp", "list"])).stdout).toContain("mine");
    expect(outcomes(await setUp())).toMatchObject({ codex: "unchanged", opencode: "unchanged" });
  });

  test("in a session of Claude Code an approved write executes and a blocked one is refused", async () => {
    const write = "mcp__gate__write_file";
    const model = await startModel([
      { name: write, input: { path: "src/a.txt", content: "from the agent\n" } },
      { name: write, input: { path: ".env", content: "SECRET=1" } },
    ]);
    const session = call("claude", ["-p", "Do it.", "--allowedTools", write], {
      ANTHROPIC_BASE_URL: model.url,
      ANTHROPIC_API_KEY: "none",
      ENABLE_TOOL_SEARCH: "false",
    });
    const held = await until("the write is held", async () => {
      const { body } = await world.api("GET", "/api/actions?status=pending");
      return body.items?.[0];
    }, 60_000);
    expect(held).toMatchObject({ tool: "write_file", agent: "claude-code" });
    must(await world.run(["approve", held.id]));
    expect(await session).toMatchObject({ code: 0, stdout: "All done.\n" });
    model.close();
    expect(model.tools).toContain(write);
    expect(readFileSync(join(world.project, "src/a.txt"), "utf8")).toBe("from the agent\n");
    expect(model.results[0]).toContain("succeeded");
    expect(model.results[1]).toContain("blocked");
  });
});
