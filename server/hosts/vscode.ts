import {
  type AgentHost,
  COMMON_INSTRUCTIONS,
  EDITOR_SETTINGS,
  SERVER_LIST,
  SETTINGS,
  type UserFile,
} from "./host.ts";

export const VSCODE: AgentHost = {
  id: "vscode",
  name: "VS Code",
  program: "code",
  client_names: ["visual studio code"],
  mcp: {
    format: "jsonc",
    key: "servers",
    user_files: ["Code", "Code - Insiders"].flatMap(filesOf),
    project_files: [".vscode/mcp.json"],
    entry: { once: { type: "stdio" } },
    afterwards: "trust the server when VS Code asks",
  },
  instructions: {
    file: COMMON_INSTRUCTIONS,
    also: [".github/copilot-instructions.md"],
    signs: [],
  },
  protected_paths: [
    ["mcp.json", SERVER_LIST],
    [".vscode", EDITOR_SETTINGS],
    ["*.code-workspace", EDITOR_SETTINGS],
    ["~/.config/{Code,Code - Insiders}", SETTINGS],
    ["~/Library/Application Support/{Code,Code - Insiders}", SETTINGS],
  ],
  loads: [],
  hooks: null,
};

/** A profile with servers of its own does not see the servers of the default profile. */
function filesOf(edition: string): UserFile[] {
  const folder = `{APP_DATA}/${edition}/User`;
  const profile = `${folder}/profiles/*/mcp.json`;
  return [{ path: `${folder}/mcp.json` }, { path: profile, sign: profile }];
}
