import { Command } from "@commander-js/extra-typings";
import { CliError } from "../errors.ts";
import type { Io } from "../io.ts";
import { findRoot } from "../project.ts";
import { serveProject } from "../project_server/run.ts";

/** `gate start`: the server of one project, as before there was a daemon. */
export function createCommand(io: Io) {
  return new Command("start")
    .description("Serve the project of this folder alone, on a port of its own (47001 and up).")
    .addHelpText("after", HELP)
    .action(async () => {
      const root = findRoot(io);
      if (root) return await serveProject(io, root);
      throw new CliError("This folder belongs to no project", { next: "gate init" });
    });
}

const HELP = `
The port stays the project's. Where the daemon runs, requests are handed to it.
One daemon for all projects is the usual way: gate daemon start

Examples:
  cd my-project && gate start
`;
