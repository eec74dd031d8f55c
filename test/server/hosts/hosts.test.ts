import { expect, test } from "vitest";
import { hooksOf, hostOfClient, HOSTS } from "../../../server/hosts/hosts.ts";
import { projectDirIn } from "../../../server/hosts/project_dir.ts";

test.each([
  ["claude-code", "claude-code"],
  ["codex-mcp-client", "codex"],
  ["gemini-cli-mcp-client", "gemini-cli"],
  ["qwen-cli-mcp-client-gate", "qwen-code"],
  ["Visual Studio Code", "vscode"],
  ["somebody", null],
  ["constructor", null],
])("the MCP client %s is the host %s", (name, id) => {
  expect(hostOfClient(name)).toBe(id);
});

test("no two hosts share an id, a program or a client name", () => {
  for (
    const names of [
      HOSTS.map(({ id }) => id),
      HOSTS.flatMap(({ program }) => program ?? []),
      HOSTS.flatMap(({ client_names }) => client_names),
    ]
  ) {
    expect(new Set(names).size).toBe(names.length);
    expect(names).toEqual(names.map((name) => name.toLowerCase()));
  }
});

test("a host without hooks, or an unknown one, has none", () => {
  expect(hooksOf("zed")).toBeNull();
  expect(hooksOf("toString")).toBeNull();
});

test("the folder of the session comes from the environment", () => {
  expect(projectDirIn({ CLAUDE_PROJECT_DIR: "/a" })).toBe("/a");
  expect(projectDirIn({})).toBeUndefined();
});
