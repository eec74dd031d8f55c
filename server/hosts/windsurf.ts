import { type AgentHost, COMMON_INSTRUCTIONS, SETTINGS } from "./host.ts";

/** Windsurf has been called Devin Desktop since 2026 and reads both of its places. */
export const WINDSURF: AgentHost = {
  id: "windsurf",
  name: "Windsurf (Devin Desktop)",
  program: "windsurf",
  client_names: ["windsurf"],
  mcp: {
    format: "json",
    key: "mcpServers",
    user_files: [
      { path: "{XDG_CONFIG_HOME|~/.config}/devin/mcp_config.json", os: ["darwin", "linux"] },
      { path: "{APP_DATA}/devin/mcp_config.json", os: ["win32"] },
      { path: "~/.codeium/windsurf/mcp_config.json" },
    ],
    project_files: [".devin/mcp_config.json"],
    entry: {},
    afterwards: "refresh the servers in its settings",
  },
  instructions: {
    file: COMMON_INSTRUCTIONS,
    also: [".windsurfrules"],
    signs: [".windsurf", ".devin"],
  },
  protected_paths: [
    [".{windsurf,codeium}", SETTINGS],
    [".devin", SETTINGS],
    ["~/.config/devin", SETTINGS],
  ],
  loads: [],
  hooks: null,
};
