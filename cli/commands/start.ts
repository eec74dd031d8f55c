import { Command } from "@commander-js/extra-typings";

import type { Io } from "../io.ts";
import { requireProjectRoot } from "../project.ts";
import { serveProject } from "../project_server/run.ts";

/** `gate start`: a server for one project, on its own port. */
export function createCommand(io: Io) {
  return new Command("start")
    .description("Serve only the project of this folder, on a port of its own (47001 and up).")
    .addHelpText("after", HELP)
    .action(async () => await serveProject(io, requireProjectRoot(io)));
}

const HELP = `
A project always gets the same port. If the daemon runs, this server forwards requests to it.
Usually one daemon serves all projects: gate daemon start

Examples:
  cd my-project && gate start
`;
