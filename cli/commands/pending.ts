import { Command } from "@commander-js/extra-typings";
import { type Client, unwrap } from "../../server/client.ts";
import { actionTable } from "../actions/view.ts";
import { openConnection } from "../daemon/connect.ts";
import { CliError } from "../errors.ts";
import type { Io } from "../io.ts";
import { examples } from "../options.ts";
import { print, printJson, say } from "../terminal/output.ts";
import { describeRollbacks } from "../actions/rollback.ts";
import { sayStepBacks, witnessAll } from "../witness/witness.ts";

/** `gate pending`: the held actions of all projects. */
export function createCommand(io: Io) {
  return new Command("pending")
    .description("List the held actions: those that wait for your approval, in all projects.")
    .option("--project <id>", "only this project")
    .option("--workspace <id>", "only the projects of this workspace")
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate pending", "gate pending --json | jq -r '.[].id'"))
    .action(async ({ project, workspace, json }) => {
      const connection = await openConnection(io, { scope: "viewer" });
      const { client } = connection;
      const { items } = await unwrap(
        client.api.global.approvals.pending.$get({ query: { workspace } }),
      );
      const held = project ? items.filter((action) => action.project_id === project) : items;
      if (project && held.length === 0) await requireProject(client, project);
      sayStepBacks(io, await witnessAll(io, connection));
      if (json) return printJson(io, held);
      if (held.length === 0) return print(io, "No action is held.");
      const described = await describeRollbacks(connection, held);
      print(io, actionTable(io, held, { now: Date.now(), described }));
      say(io, "\n  gate show <id>   gate approve <id>   gate reject <id> --reason '…'");
    });
}

/** Refuses a project that does not exist, because an empty list would be misleading. */
async function requireProject(client: Client, id: string): Promise<void> {
  const { items } = await unwrap(client.api.hub.projects.$get());
  if (items.some((project) => project.id === id)) return;
  throw new CliError(`Cannot find project "${id}": it is not registered`, {
    next: "gate project list",
  });
}
