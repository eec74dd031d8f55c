import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connectClient, StdioClientTransport } from "../server/mcp/sdk_client.ts";
import { must, World } from "./world.ts";

describe("the executable sets up agent hosts", () => {
  let world: World;
  const inHome = (name: string) => join(world.home, name);
  const json = (name: string) => JSON.parse(readFileSync(inHome(name), "utf8"));
  const old = { command: "/usr/bin/gate", args: ["mcp", "--project", "demo"] };

  beforeAll(async () => {
    world = await World.create("executable", { isBare: true });
    for (const folder of [".cursor", ".codex", ".config/zed"]) {
      mkdirSync(inHome(folder), { recursive: true });
    }
    writeFileSync(inHome(".codex/config.toml"), 'model = "x" # mine\n');
    writeFileSync(inHome(".cursor/mcp.json"), JSON.stringify({ mcpServers: { "gate-demo": old } }));
    chmodSync(inHome(".cursor/mcp.json"), 0o600);
    await world.init();
  });

  afterAll(() => world.close());

  test("global-setup adds one working entry to each installed host", async () => {
    const dry = must(await world.run(["global-setup", "--dry-run"]));
    expect(dry.stdout).toContain("+[mcp_servers.gate]");
    expect(existsSync(inHome(".config/zed/settings.json"))).toBe(false);
    const { stdout } = must(await world.run(["global-setup"]));
    expect(stdout).toMatch(/^added +zed /m);
    expect(stdout).toMatch(/^not installed +claude-desktop$/m);
    const toml = readFileSync(inHome(".codex/config.toml"), "utf8");
    expect(toml).toMatch(/^model = "x" # mine\n\n\[mcp_servers\.gate\]\ncommand = "/);
    expect(statSync(inHome(".cursor/mcp.json")).mode & 0o777).toBe(0o600);
    const again = must(await world.run(["global-setup", "--json"]));
    const outcomes = JSON.parse(again.stdout).hosts.map((one: { outcome: string }) => one.outcome);
    expect(new Set(outcomes)).toEqual(new Set(["unchanged", "not_installed"]));

    const { command, args, env } = json(".cursor/mcp.json").mcpServers.gate;
    const transport = new StdioClientTransport({
      command,
      args,
      env: { ...world.env, ...env },
      cwd: world.project,
      stderr: "ignore",
    });
    const client = await connectClient(transport);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain("await_action");
    await client.close();
  });

  test("cleanup-mcp removes old entries, also from registered projects", async () => {
    world.write(".mcp.json", JSON.stringify({ mcpServers: { "gate-demo": old, mine: { a: 1 } } }));
    const { stdout, stderr } = must(await world.run(["cleanup-mcp"], { cwd: world.home }));
    expect(stdout.match(/^removed /gm)).toHaveLength(2);
    expect(stderr).toBe("");
    expect(Object.keys(json(".cursor/mcp.json").mcpServers)).toEqual(["gate"]);
    const project = readFileSync(join(world.project, ".mcp.json"), "utf8");
    expect(JSON.parse(project)).toEqual({ mcpServers: { mine: { a: 1 } } });
  });

  test("update-instructions --all --check exits with 1 until all projects are up to date", async () => {
    const check = ["update-instructions", "--all", "--check"];
    expect(await world.run(check)).toMatchObject({ code: 1 });
    must(await world.run(["update-instructions", "--all"], { cwd: world.home }));
    expect(readFileSync(join(world.project, "AGENTS.md"), "utf8")).toContain("(`demo`)");
    expect(await world.run(check)).toMatchObject({ code: 0, stderr: "" });
  });

  test("eight concurrent set-ups succeed, and leave one entry and no other file", async () => {
    const servers = { mcpServers: { other: { command: "x" } } };
    writeFileSync(inHome(".cursor/mcp.json"), JSON.stringify(servers));
    const ended = await Promise.all(
      Array.from({ length: 8 }, () => world.run(["global-setup", "--host", "cursor"])),
    );
    expect(ended.map(({ code }) => code)).toEqual(new Array(8).fill(0));
    expect(Object.keys(json(".cursor/mcp.json").mcpServers)).toEqual(["other", "gate"]);
    expect(readdirSync(inHome(".cursor"))).toEqual(["mcp.json"]);
  });

  test("a broken settings file exits with 1 and names its line; an unknown host exits with 64", async () => {
    writeFileSync(inHome(".config/zed/settings.json"), '{\n  "a": ]\n}\n');
    const { code, stderr } = await world.run(["global-setup"]);
    expect(code).toBe(1);
    expect(stderr).toContain("at line 2, column 8");
    expect(await world.run(["global-setup", "--host", "emacs"])).toMatchObject({ code: 64 });
  });
});
