import { existsSync } from "node:fs";
import { join } from "node:path";
import { JSONC_TEXT } from "./edit/json_text.ts";
import { commonEntry, type Host, type HostFile } from "./host.ts";
import { appData, namesIn } from "./machine.ts";

const EDITIONS = ["Code", "Code - Insiders"];

export const VSCODE: Host = {
  id: "vscode",
  name: "VS Code",
  program: "code",
  editor: JSONC_TEXT,
  servers: ["servers"],
  files: (machine) =>
    EDITIONS.flatMap((edition) => filesOf(join(appData(machine), edition, "User"))),
  project_files: [".vscode/mcp.json"],
  entry: (launch) => commonEntry(launch, { type: "stdio" }),
  afterwards: "trust the server when VS Code asks",
};

/** A profile that has servers of its own does not see those of the usual one. */
function filesOf(folder: string): HostFile[] {
  const profiles = join(folder, "profiles");
  const own = namesIn(profiles).map((name) => join(profiles, name, "mcp.json")).filter((path) =>
    existsSync(path)
  );
  return [
    { path: join(folder, "mcp.json"), sign: folder },
    ...own.map((path) => ({ path, sign: path })),
  ];
}
