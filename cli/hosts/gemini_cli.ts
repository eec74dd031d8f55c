import { join } from "node:path";
import { COMMENTED_JSON_TEXT } from "./edit/json_text.ts";
import { CALL_TIMEOUT_MS, commonEntry, type Host } from "./host.ts";

export const GEMINI_CLI: Host = {
  id: "gemini-cli",
  name: "Gemini CLI",
  program: "gemini",
  editor: COMMENTED_JSON_TEXT,
  servers: ["mcpServers"],
  files: ({ home }) => {
    const folder = join(home, ".gemini");
    return [{ path: join(folder, "settings.json"), sign: folder }];
  },
  project_files: [".gemini/settings.json"],
  entry: (launch) => commonEntry(launch, { timeout: CALL_TIMEOUT_MS }),
  afterwards: "start a new session",
};
