import { join } from "node:path";
import { JSONC_TEXT } from "./edit/json_text.ts";
import { commonEntry, type Host } from "./host.ts";
import { appData, dotConfig } from "./machine.ts";

export const ZED: Host = {
  id: "zed",
  name: "Zed",
  program: "zed",
  editor: JSONC_TEXT,
  servers: ["context_servers"],
  files: (machine) => {
    const folder = machine.os === "win32"
      ? join(appData(machine), "Zed")
      : join(dotConfig(machine), "zed");
    return [{ path: join(folder, "settings.json"), sign: folder }];
  },
  project_files: [".zed/settings.json"],
  entry: (launch) => commonEntry(launch),
  afterwards: "nothing: it reads the file at once",
};
