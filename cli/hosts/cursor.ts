import { join } from "node:path";
import { JSON_TEXT } from "./edit/json_text.ts";
import { commonEntry, type Host } from "./host.ts";

export const CURSOR: Host = {
  id: "cursor",
  name: "Cursor",
  program: "cursor",
  editor: JSON_TEXT,
  servers: ["mcpServers"],
  files: ({ home }) => {
    const folder = join(home, ".cursor");
    return [{ path: join(folder, "mcp.json"), sign: folder }];
  },
  project_files: [".cursor/mcp.json"],
  entry: (launch) => commonEntry(launch, { type: "stdio" }),
  afterwards: "switch the server on in Settings > MCP",
};
