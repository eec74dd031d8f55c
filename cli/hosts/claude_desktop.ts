import { join } from "node:path";
import { JSON_TEXT } from "./edit/json_text.ts";
import { commonEntry, type Host, type HostFile } from "./host.ts";
import { appData, localAppData, type Machine, namesIn } from "./machine.ts";

const FILE = "claude_desktop_config.json";

export const CLAUDE_DESKTOP: Host = {
  id: "claude-desktop",
  name: "Claude Desktop",
  program: null,
  editor: JSON_TEXT,
  servers: ["mcpServers"],
  files: (machine) => [...packaged(machine), inFolder(join(appData(machine), "Claude"))],
  project_files: [],
  entry: (launch) => commonEntry(launch),
  afterwards: "quit and open the app again",
};

/** The installer of Windows since 2026 keeps the app's files in a package of its own. */
function packaged(machine: Machine): HostFile[] {
  if (machine.os !== "win32") return [];
  const packages = join(localAppData(machine), "Packages");
  return namesIn(packages).filter((name) => name.startsWith("Claude_")).map((name) => ({
    path: join(packages, name, "LocalCache", "Roaming", "Claude", FILE),
    sign: join(packages, name),
  }));
}

function inFolder(folder: string): HostFile {
  return { path: join(folder, FILE), sign: folder };
}
