import { join } from "node:path";
import { JSONC_TEXT } from "./edit/json_text.ts";
import { CALL_TIMEOUT_MS, commonEntry, type Host } from "./host.ts";

export const COPILOT_CLI: Host = {
  id: "copilot-cli",
  name: "Copilot CLI",
  program: "copilot",
  editor: JSONC_TEXT,
  servers: ["mcpServers"],
  files: ({ home, env }) => {
    const folder = env.COPILOT_HOME || join(home, ".copilot");
    return [{ path: join(folder, "mcp-config.json"), sign: folder }];
  },
  project_files: [".mcp.json", ".github/mcp.json"],
  // Without `tools` the model sees none of them.
  entry: (launch) => commonEntry(launch, { type: "local", tools: ["*"], timeout: CALL_TIMEOUT_MS }),
  afterwards: "start a new session",
};
