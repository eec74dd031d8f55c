import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { JSONC_TEXT } from "./edit/json_text.ts";
import { CALL_TIMEOUT_MS, type Host } from "./host.ts";
import { dotConfig, type Machine } from "./machine.ts";

export const OPENCODE: Host = {
  id: "opencode",
  name: "opencode",
  program: "opencode",
  editor: JSONC_TEXT,
  servers: ["mcp"],
  files: (machine) => {
    const paths = pathsOf(machine);
    // It reads both, so one entry in the file that is there is enough.
    const path = paths.find((one) => existsSync(one)) ?? paths[0]!;
    return [{ path, sign: dirname(path) }];
  },
  also: (machine) => pathsOf(machine),
  project_files: ["opencode.jsonc", "opencode.json"],
  entry: ({ command, args }) => ({
    must: { command: [command, ...args] },
    once: { type: "local", enabled: true, timeout: CALL_TIMEOUT_MS },
    env_key: "environment",
  }),
  afterwards: "start a new session",
};

function pathsOf(machine: Machine): string[] {
  const folder = join(dotConfig(machine), "opencode");
  return ["opencode.jsonc", "opencode.json"].map((name) => join(folder, name));
}
