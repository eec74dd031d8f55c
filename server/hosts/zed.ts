import { type AgentHost, COMMON_INSTRUCTIONS, EDITOR_SETTINGS, SETTINGS } from "./host.ts";

export const ZED: AgentHost = {
  id: "zed",
  name: "Zed",
  program: "zed",
  client_names: ["zed"],
  mcp: {
    format: "jsonc",
    key: "context_servers",
    user_files: [
      { path: "{XDG_CONFIG_HOME|~/.config}/zed/settings.json", os: ["darwin", "linux"] },
      { path: "{APP_DATA}/Zed/settings.json", os: ["win32"] },
    ],
    project_files: [".zed/settings.json"],
    entry: {},
    afterwards: "nothing: it reads the file at once",
  },
  instructions: { file: COMMON_INSTRUCTIONS, also: [".rules"], signs: [".zed"] },
  protected_paths: [[".zed", EDITOR_SETTINGS], ["~/.config/zed", SETTINGS]],
  loads: [],
  hooks: null,
};
