import { Command } from "@commander-js/extra-typings";

import type { Io } from "../io.ts";
import { requireProjectRoot } from "../project.ts";
import { serveProject } from "../project_server/run.ts";

/** `gate start`: a server for one project, on its own port. */
export function createCommand(io: Io) {
  return new Command("start")
    .description(
      "Serve the API and dashboard of this folder's project on a port of its own (47001 and up). " +
        "You rarely need this: gate daemon start serves all projects.",
    )
    .addHelpText("after", HELP)
    .action(async () => await serveProject(io, requireProjectRoot(io)));
}

const HELP = `
A project always gets the same port. If the daemon runs, this server forwards requests to it. When a
daemon starts later, this server hands the project over to it and forwards requests from then on.

Examples:
  cd my-project && gate start
`;
