import { type AgentHost, CALL_TIMEOUT_MS, COMMON_INSTRUCTIONS, SETTINGS } from "./host.ts";

const FOLDER = "{XDG_CONFIG_HOME|~/.config}/opencode";

export const OPENCODE: AgentHost = {
  id: "opencode",
  name: "opencode",
  program: "opencode",
  client_names: ["opencode"],
  mcp: {
    format: "jsonc",
    key: "mcp",
    // It reads both files, so one entry in the file that exists is enough.
    user_files: [{ path: `${FOLDER}/opencode.jsonc`, or: `${FOLDER}/opencode.json` }],
    project_files: ["opencode.jsonc", "opencode.json"],
    entry: {
      once: { type: "local", enabled: true, timeout: CALL_TIMEOUT_MS },
      command_is_list: true,
      env_key: "environment",
    },
    afterwards: "start a new session",
  },
  instructions: {
    file: COMMON_INSTRUCTIONS,
    signs: [".opencode", "opencode.json", "opencode.jsonc"],
  },
  protected_paths: [
    [".opencode", SETTINGS],
    ["~/.config/opencode", SETTINGS],
    ["opencode.{json,jsonc}", SETTINGS],
  ],
  loads: [
    "~/.config/opencode/{AGENTS.md,opencode.json,opencode.jsonc}",
    "~/.config/opencode/{plugin,plugins,agent,agents,command,commands}",
    "~/.config/opencode/{skill,skills,tool,tools,mode,modes}",
  ],
  hooks: null,
};
