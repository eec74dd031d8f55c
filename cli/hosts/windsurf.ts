import { join } from "node:path";
import { JSON_TEXT } from "./edit/json_text.ts";
import { commonEntry, type Host, type HostFile } from "./host.ts";
import { appData, dotConfig } from "./machine.ts";

/** Windsurf, which has been called Devin Desktop since 2026 and reads both places. */
export const WINDSURF: Host = {
  id: "windsurf",
  name: "Windsurf (Devin Desktop)",
  program: "windsurf",
  editor: JSON_TEXT,
  servers: ["mcpServers"],
  files: (machine) => [
    inFolder(join(machine.os === "win32" ? appData(machine) : dotConfig(machine), "devin")),
    inFolder(join(machine.home, ".codeium", "windsurf")),
  ],
  project_files: [".devin/mcp_config.json"],
  entry: (launch) => commonEntry(launch),
  afterwards: "refresh the servers in its settings",
};

function inFolder(folder: string): HostFile {
  return { path: join(folder, "mcp_config.json"), sign: folder };
}
