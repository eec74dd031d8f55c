import { Command } from "@commander-js/extra-typings";
import { unwrap } from "../../server/client.ts";
import type { DaemonStatus } from "../../server/global/schema.ts";
import { connect } from "../connect.ts";
import { showDaemonStatus } from "../daemon/show_status.ts";
import type { Io } from "../io.ts";
import { paint, print, printJson } from "../output.ts";
import { findRoot } from "../project.ts";
import { visibleLine } from "../visible.ts";

/** `gate status`: the daemon, the project of this folder, and what waits. */
export function createCommand(io: Io) {
  return new Command("status")
    .description("Show the daemon, the project of this folder and what waits.")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExamples:\n  gate status\n  gate status --json | jq .pending\n")
    .action(async ({ json }) => {
      const client = await connect(io, { scope: "viewer", start: false });
      const daemon = await unwrap(client.api.daemon.status.$get());
      const root = findRoot(io);
      const project = daemon.projects.find(({ roots }) => root !== null && roots.includes(root));
      const pending = daemon.projects.reduce((sum, { pending_count }) => sum + pending_count, 0);
      if (json) return printJson(io, { daemon, root, project: project ?? null, pending });
      showDaemonStatus(io, daemon);
      print(io);
      print(io, describeHere(io, root, project));
      print(
        io,
        pending ? paint(io, "yellow", `${pending} waiting: gate pending`) : "Nothing waits.",
      );
    });
}

function describeHere(
  io: Io,
  root: string | null,
  project: DaemonStatus["projects"][number] | undefined,
): string {
  if (!root) return "This folder belongs to no project: gate init";
  if (!project) return `${visibleLine(root)} is not registered yet: gate init`;
  return `This folder belongs to ${paint(io, "bold", visibleLine(project.id))}`;
}
