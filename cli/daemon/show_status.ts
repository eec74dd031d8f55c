import { MACHINE_ID } from "../../server/constants.ts";
import type { DaemonStatus } from "../../server/global/schema.ts";
import type { Io } from "../io.ts";
import { ago, paint, print, table } from "../terminal/output.ts";
import { visibleLine } from "../terminal/visible.ts";

/** Prints the daemon's state and its projects. */
export function showDaemonStatus(io: Io, status: DaemonStatus): void {
  const now = Date.now();
  const health = status.healthy ? paint(io, "green", "healthy") : paint(io, "red", "not healthy");
  print(
    io,
    `gate ${status.version} runs, ${health}: pid ${status.pid}, port ${status.port}, ` +
      `for ${ago(status.started_at, now)}`,
  );
  for (const problem of status.problems) print(io, paint(io, "red", `! ${visibleLine(problem)}`));
  if (status.projects.length === 0) {
    print(io, "No project is registered. Register one: gate init");
    return;
  }
  print(io);
  print(
    io,
    table([
      ["PROJECT", "HELD", "LAST ACTIVITY", "ROOTS"],
      ...status.projects.map((project) => [
        visibleLine(project.id),
        heldIn(project),
        project.last_activity_at ? `${ago(project.last_activity_at, now)} ago` : "-",
        (project.id === MACHINE_ID ? project.name : project.roots.map(visibleLine).join(", ")) +
        (project.reachable ? "" : " (not reachable)"),
      ]),
    ]),
  );
}

/** The number of held actions; "?" where the ledger cannot be read, because then nobody knows it. */
export function heldIn({ pending_count, unread }: DaemonStatus["projects"][number]): string {
  return unread ? "?" : String(pending_count);
}
