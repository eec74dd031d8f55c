import { type AgentHost, SETTINGS } from "./host.ts";

// The Windows installer of 2026 keeps the app's files in a package folder.
const PACKAGE = "{LOCALAPPDATA|~/AppData/Local}/Packages/Claude_*";

export const CLAUDE_DESKTOP: AgentHost = {
  id: "claude-desktop",
  name: "Claude Desktop",
  program: null,
  client_names: ["claude-ai"],
  mcp: {
    format: "json",
    key: "mcpServers",
    user_files: [
      {
        path: `${PACKAGE}/LocalCache/Roaming/Claude/claude_desktop_config.json`,
        sign: PACKAGE,
        os: ["win32"],
      },
      { path: "{APP_DATA}/Claude/claude_desktop_config.json" },
    ],
    project_files: [],
    entry: {},
    afterwards: "quit and open the app again",
  },
  instructions: { file: null, signs: [] },
  protected_paths: [
    ["~/.config/Claude", SETTINGS],
    ["~/Library/Application Support/Claude", SETTINGS],
    ["claude_desktop_config.json", SETTINGS],
  ],
  loads: [],
  hooks: null,
};
