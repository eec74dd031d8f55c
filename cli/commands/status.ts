import { sep } from "node:path";
import { Command } from "@commander-js/extra-typings";
import { unwrap } from "../../server/client.ts";
import type { DaemonStatus } from "../../server/global/schema.ts";
import { openConnection } from "../daemon/connect.ts";
import { showDaemonStatus } from "../daemon/show_status.ts";
import type { Io } from "../io.ts";
import { paint, print, printJson } from "../terminal/output.ts";
import { findRoot } from "../project.ts";
import { askHealth, type ProjectHealth } from "../project_health.ts";
import { visibleLine } from "../terminal/visible.ts";

/** `gate status`: the daemon, the project of this folder, and what waits. */
export function createCommand(io: Io) {
  return new Command("status")
    .description("Show the daemon, the project of this folder and what waits.")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExamples:\n  gate status\n  gate status --json | jq .pending\n")
    .action(async ({ json }) => {
      const connection = await openConnection(io, { scope: "viewer", start: false });
      const daemon = await unwrap(connection.client.api.daemon.status.$get());
      const root = findRoot(io) ?? findRegistered(io.cwd, daemon);
      const project = daemon.projects.find(({ roots }) => root !== null && roots.includes(root));
      const pending = daemon.projects.reduce((sum, { pending_count }) => sum + pending_count, 0);
      const health = project ? await askHealth(connection, project.id) : null;
      if (json) return printJson(io, { daemon, root, project: project ?? null, pending, health });
      showDaemonStatus(io, daemon);
      print(io);
      print(io, describeHere(io, root, project));
      if (health) showHealth(io, health);
      print(
        io,
        pending ? paint(io, "yellow", `${pending} waiting: gate pending`) : "Nothing waits.",
      );
    });
}

/** A registered project that the folder lies in: its config may have been lost. */
function findRegistered(cwd: string, { projects }: DaemonStatus): string | null {
  const roots = projects.flatMap((project) => project.roots);
  return roots.find((root) => cwd === root || cwd.startsWith(root + sep)) ?? null;
}

function showHealth(io: Io, { error, warnings }: ProjectHealth): void {
  if (error) print(io, paint(io, "red", `! ${visibleLine(error)}`));
  for (const warning of warnings) print(io, paint(io, "yellow", `! ${visibleLine(warning)}`));
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
