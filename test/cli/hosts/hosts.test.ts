import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { filesInUse, hostById, userFiles } from "../../../cli/hosts/hosts.ts";
import { findProgram, type Machine } from "../../../cli/hosts/machine.ts";
import { HOSTS, PLATFORMS } from "../../../server/hosts/hosts.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "gate-hosts-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const filesOf = (id: string, os: Machine["os"], env: Machine["env"] = {}) =>
  userFiles(hostById(id), { os, home, env })
    .map(({ path }) => path.slice(home.length + 1));

test("PLATFORMS lists each host id once", () => {
  expect(PLATFORMS).toEqual([
    "claude-desktop",
    "claude-code",
    "copilot-cli",
    "codex",
    "gemini-cli",
    "qwen-code",
    "opencode",
    "cursor",
    "vscode",
    "zed",
    "windsurf",
  ]);
  expect(new Set(PLATFORMS).size).toBe(PLATFORMS.length);
});

test.each(
  [
    ["claude-desktop", "darwin", ["Library/Application Support/Claude/claude_desktop_config.json"]],
    ["claude-desktop", "linux", [".config/Claude/claude_desktop_config.json"]],
    ["claude-desktop", "win32", ["AppData/Roaming/Claude/claude_desktop_config.json"]],
    ["claude-code", "darwin", [".claude.json"]],
    ["copilot-cli", "linux", [".copilot/mcp-config.json"]],
    ["codex", "win32", [".codex/config.toml"]],
    ["gemini-cli", "linux", [".gemini/settings.json"]],
    ["qwen-code", "win32", [".qwen/settings.json"]],
    ["opencode", "darwin", [".config/opencode/opencode.jsonc"]],
    ["cursor", "win32", [".cursor/mcp.json"]],
    ["vscode", "darwin", [
      "Library/Application Support/Code/User/mcp.json",
      "Library/Application Support/Code - Insiders/User/mcp.json",
    ]],
    ["vscode", "linux", [
      ".config/Code/User/mcp.json",
      ".config/Code - Insiders/User/mcp.json",
    ]],
    ["zed", "darwin", [".config/zed/settings.json"]],
    ["zed", "win32", ["AppData/Roaming/Zed/settings.json"]],
    ["windsurf", "linux", [".config/devin/mcp_config.json", ".codeium/windsurf/mcp_config.json"]],
    ["windsurf", "win32", [
      "AppData/Roaming/devin/mcp_config.json",
      ".codeium/windsurf/mcp_config.json",
    ]],
  ] as const,
)("%s on %s stores its servers in %j", (id, os, paths) => {
  expect(filesOf(id, os)).toEqual(paths);
});

test.each(
  [
    ["claude-desktop", "json", "mcpServers", []],
    ["claude-code", "json", "mcpServers", [".mcp.json"]],
    ["copilot-cli", "jsonc", "mcpServers", [".mcp.json", ".github/mcp.json"]],
    ["codex", "toml", "mcp_servers", [".codex/config.toml"]],
    ["gemini-cli", "json-with-comments", "mcpServers", [".gemini/settings.json"]],
    ["qwen-code", "json-with-comments", "mcpServers", [".qwen/settings.json"]],
    ["opencode", "jsonc", "mcp", ["opencode.jsonc", "opencode.json"]],
    ["cursor", "json", "mcpServers", [".cursor/mcp.json"]],
    ["vscode", "jsonc", "servers", [".vscode/mcp.json"]],
    ["zed", "jsonc", "context_servers", [".zed/settings.json"]],
    ["windsurf", "json", "mcpServers", [".devin/mcp_config.json"]],
  ] as const,
)("%s keeps its servers as %s below %s; in a project in %j", (id, format, key, files) => {
  const { mcp } = hostById(id);
  expect([mcp.format, mcp.key, mcp.project_files]).toEqual([format, key, files]);
});

test("environment variables override the default folders", () => {
  const env = {
    CLAUDE_CONFIG_DIR: join(home, "c"),
    CODEX_HOME: join(home, "x"),
    COPILOT_HOME: join(home, "p"),
    QWEN_HOME: join(home, "q"),
    XDG_CONFIG_HOME: join(home, "g"),
    APPDATA: join(home, "r"),
  };
  expect(filesOf("claude-code", "linux", env)).toEqual(["c/.claude.json"]);
  expect(filesOf("codex", "linux", env)).toEqual(["x/config.toml"]);
  expect(filesOf("copilot-cli", "linux", env)).toEqual(["p/mcp-config.json"]);
  expect(filesOf("qwen-code", "linux", env)).toEqual(["q/settings.json"]);
  expect(filesOf("zed", "linux", env)).toEqual(["g/zed/settings.json"]);
  expect(filesOf("zed", "win32", env)).toEqual(["r/Zed/settings.json"]);
});

test("userFiles() finds packaged Claude Desktop, VS Code profiles and both opencode file names", () => {
  const pack = "AppData/Local/Packages/Claude_abc";
  mkdirSync(join(home, pack), { recursive: true });
  expect(filesOf("claude-desktop", "win32")[0])
    .toBe(`${pack}/LocalCache/Roaming/Claude/claude_desktop_config.json`);
  const profiles = join(home, ".config/Code/User/profiles");
  mkdirSync(join(profiles, "with"), { recursive: true });
  mkdirSync(join(profiles, "without"));
  writeFileSync(join(profiles, "with", "mcp.json"), "{}");
  expect(filesOf("vscode", "linux")).toContain(".config/Code/User/profiles/with/mcp.json");
  expect(filesOf("vscode", "linux")).toHaveLength(3);
  mkdirSync(join(home, ".config/opencode"));
  writeFileSync(join(home, ".config/opencode/opencode.json"), "{}");
  expect(filesOf("opencode", "linux")).toEqual([".config/opencode/opencode.json"]);
});

test("a host is in use if its folder exists or its program is on PATH", () => {
  const machine = { os: "linux", home, env: { PATH: `relative:${join(home, "bin")}` } } as const;
  const used = () =>
    HOSTS.filter((host) => filesInUse(host, machine).length > 0).map(({ id }) => id);
  expect(used()).toEqual([]);
  mkdirSync(join(home, ".cursor"));
  mkdirSync(join(home, "bin"));
  writeFileSync(join(home, "bin/codex"), "");
  expect(used()).toEqual(["cursor"]);
  chmodSync(join(home, "bin/codex"), 0o755);
  expect(used()).toEqual(["codex", "cursor"]);
  expect(findProgram(machine, "codex")).toBe(join(home, "bin/codex"));
});
