import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import type { Io } from "./io.ts";

/** One command: what the help of `gate` says of it, and how to load the rest. */
export interface CommandEntry {
  name: string;
  summary: string;
  group: string;
  load: () => Promise<{ createCommand: (io: Io) => CommandUnknownOpts }>;
}

const SET_UP = "Set up:";
const FOR_AGENTS = "For agents:";

/** Every command, in the order of the help. */
export const COMMANDS: readonly CommandEntry[] = [
  {
    name: "token",
    summary: "Print the credential of a scope",
    group: SET_UP,
    load: () => import("./commands/token.ts"),
  },
  {
    name: "mcp",
    summary: "Serve MCP to an agent's host",
    group: FOR_AGENTS,
    load: () => import("./commands/mcp.ts"),
  },
];
