import { join } from "node:path";
import { JSON_TEXT } from "./edit/json_text.ts";
import { CALL_TIMEOUT_MS, commonEntry, type Host } from "./host.ts";

export const CLAUDE_CODE: Host = {
  id: "claude-code",
  name: "Claude Code",
  program: "claude",
  editor: JSON_TEXT,
  servers: ["mcpServers"],
  files: ({ home, env }) => {
    const moved = env.CLAUDE_CONFIG_DIR;
    const path = join(moved || home, ".claude.json");
    return [{ path, sign: moved || join(home, ".claude") }];
  },
  project_files: [".mcp.json"],
  entry: (launch) => commonEntry(launch, { type: "stdio", timeout: CALL_TIMEOUT_MS }),
  afterwards: "start a new session",
};
