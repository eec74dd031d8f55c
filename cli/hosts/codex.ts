import { join } from "node:path";
import { TOML_TEXT } from "./edit/toml_text.ts";
import { CALL_TIMEOUT_MS, commonEntry, type Host } from "./host.ts";

export const CODEX: Host = {
  id: "codex",
  name: "Codex",
  program: "codex",
  editor: TOML_TEXT,
  servers: ["mcp_servers"],
  files: ({ home, env }) => {
    const folder = env.CODEX_HOME || join(home, ".codex");
    return [{ path: join(folder, "config.toml"), sign: folder }];
  },
  project_files: [".codex/config.toml"],
  entry: (launch) =>
    commonEntry(launch, { startup_timeout_sec: 20, tool_timeout_sec: CALL_TIMEOUT_MS / 1000 }),
  afterwards: "start a new session",
};
