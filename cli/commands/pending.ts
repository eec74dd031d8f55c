import { Command } from "@commander-js/extra-typings";
import { type Client, unwrap } from "../../server/client.ts";
import { actionTable } from "../actions/view.ts";
import { openConnection } from "../daemon/connect.ts";
import { CliError } from "../errors.ts";
import type { Io } from "../io.ts";
import { print, printJson, say } from "../terminal/output.ts";
import { describeRollbacks } from "../actions/rollback_words.ts";

/** `gate pending`: what waits for a person, in all projects. */
export function createCommand(io: Io) {
  return new Command("pending")
    .description("List what waits for a person, in all projects.")
    .option("--project <id>", "of this project only")
    .option("--workspace <id>", "of the projects of this workspace only")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExamples:\n  gate pending\n  gate pending --json | jq -r '.[].id'\n")
    .action(async ({ project, workspace, json }) => {
      const connection = await openConnection(io, { scope: "viewer" });
      const { client } = connection;
      const { items } = await unwrap(
        client.api.global.approvals.pending.$get({ query: { workspace } }),
      );
      const held = project ? items.filter((action) => action.project_id === project) : items;
      if (project && held.length === 0) await requireProject(client, project);
      if (json) return printJson(io, held);
      if (held.length === 0) return print(io, "Nothing is waiting.");
      const said = await describeRollbacks(connection, held);
      print(io, actionTable(io, held, { now: Date.now(), said }));
      say(io, "\n  gate show <id>   gate approve <id>   gate reject <id> --reason '…'");
    });
}

/** "Nothing is waiting" in a project that does not exist would be a false comfort. */
async function requireProject(client: Client, id: string): Promise<void> {
  const { items } = await unwrap(client.api.hub.projects.$get());
  if (items.some((project) => project.id === id)) return;
  throw new CliError(`Cannot find project "${id}"`, { next: "gate project list" });
}
