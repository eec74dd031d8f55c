import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { snapshot } from "../hosts/stage.ts";
import { createTerminal, type TestTerminal } from "../terminal.ts";

let terminal: TestTerminal;
beforeEach(async () => {
  terminal = await createTerminal({ PATH: "/nonexistent" });
});
afterEach(() => terminal.close());

const OLD = { command: "/usr/bin/gate", args: ["mcp", "--project", "web"] };
const path = (name: string) => join(terminal.folder, name);
const write = (name: string, value: unknown) => {
  mkdirSync(dirname(path(name)), { recursive: true });
  writeFileSync(path(name), `${JSON.stringify(value, null, 2)}\n`);
};
const read = (name: string) => JSON.parse(readFileSync(path(name), "utf8"));

test("cleanup-mcp removes project entries from Claude Code's file and from the projects", async () => {
  const web = path("elsewhere/web");
  const universal = { command: "/usr/bin/gate", args: ["mcp"] };
  write(".claude.json", {
    mcpServers: { gate: universal, "gate-web": OLD },
    projects: {
      [web]: {
        allowedTools: ["Bash"],
        mcpServers: { "gate-web": OLD, gate: OLD, mine: { url: "x" } },
      },
      [path("elsewhere/gone")]: { mcpServers: {} },
      relative: { mcpServers: { "gate-x": OLD } },
    },
    oauthAccount: { a: 1 },
  });
  write("elsewhere/web/.mcp.json", { mcpServers: { "gate-web": OLD, other: { command: "x" } } });
  write("elsewhere/web/.cursor/mcp.json", { mcpServers: { "gate-web": OLD, gate: universal } });
  const { code, stdout, stderr } = await terminal.run(["cleanup-mcp"]);
  expect(code).toBe(0);
  expect(stdout).toContain(`gate-web (for ${web})`);
  expect(stderr).toContain("The daemon does not run");
  expect(read(".claude.json")).toEqual({
    mcpServers: { gate: universal },
    projects: {
      [web]: { allowedTools: ["Bash"], mcpServers: { mine: { url: "x" } } },
      [path("elsewhere/gone")]: { mcpServers: {} },
      relative: { mcpServers: {} },
    },
    oauthAccount: { a: 1 },
  });
  expect(read("elsewhere/web/.mcp.json")).toEqual({ mcpServers: { other: { command: "x" } } });
  expect(read("elsewhere/web/.cursor/mcp.json")).toEqual({ mcpServers: { gate: universal } });
});

test.each([
  [{ command: "/opt/gate/bin/gate-linux-x64", args: ["mcp"] }, true],
  [{ command: "C:\\Program Files\\gate\\gate.exe", args: ["mcp", "--project", "web"] }, true],
  [{ command: "cmd", args: ["/c", "npx", "-y", "gate", "mcp"] }, true],
  [{ command: "env", args: ["GATE_HOME=/x", "gate", "mcp"] }, true],
  [{ command: "/usr/bin/node", args: ["/opt/gate/dist/node/gate.mjs", "mcp"] }, true],
  [{ command: "gate", args: ["serve"] }, false],
  [{ command: "gate" }, false],
  [{ command: "gatekeeper", args: ["mcp"] }, false],
  [{ command: "node", args: ["server.js", "mcp"] }, false],
  [{ command: "sh", args: ["-c", "gate mcp"] }, false],
  [{ command: ["gate", 3], args: ["mcp"] }, false],
  [{ url: "http://localhost:47000/mcp" }, false],
  ["gate mcp", false],
  [null, false],
])("the entry %j is recognized as gate's: %j", async (entry, isOurs) => {
  write(".cursor/mcp.json", { mcpServers: { "gate-web": entry } });
  await terminal.run(["cleanup-mcp"]);
  expect(Object.keys(read(".cursor/mcp.json").mcpServers)).toEqual(isOurs ? [] : ["gate-web"]);
});

test("cleanup-mcp checks both files of a host", async () => {
  const entry = { mcp: { "gate-web": { command: [OLD.command, ...OLD.args] } } };
  write(".config/opencode/opencode.jsonc", entry);
  write(".config/opencode/opencode.json", entry);
  await terminal.run(["cleanup-mcp"]);
  expect(read(".config/opencode/opencode.jsonc")).toEqual({ mcp: {} });
  expect(read(".config/opencode/opencode.json")).toEqual({ mcp: {} });
});

test("cleanup-mcp reports a broken file and still cleans the others", async () => {
  write(".cursor/mcp.json", { mcpServers: { "gate-web": OLD } });
  mkdirSync(path(".gemini"));
  writeFileSync(path(".gemini/settings.json"), '{"mcpServers": {"gate-web": }}');
  const { code, stderr } = await terminal.run(["cleanup-mcp"]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/settings\.json": value expected at line 1, column/);
  expect(read(".cursor/mcp.json")).toEqual({ mcpServers: {} });
  expect(stderr).toContain("gate global-setup");
});

test("cleanup-mcp does not follow a symbolic link out of the project", async () => {
  write("victim.json", { mcpServers: { "gate-web": OLD } });
  writeFileSync(path("project/gate.config.json"), '{"id":"web"}');
  symlinkSync(path("victim.json"), path("project/.mcp.json"));
  const before = snapshot(terminal.folder);
  const { code, stderr } = await terminal.run(["cleanup-mcp"]);
  expect(code).toBe(1);
  expect(stderr).toContain("leads out of the project");
  expect(snapshot(terminal.folder)).toEqual(before);
});
