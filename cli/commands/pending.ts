import { Command } from "@commander-js/extra-typings";
import { unwrap } from "../../server/client.ts";
import { actionTable } from "../action_view.ts";
import { connect } from "../connect.ts";
import type { Io } from "../io.ts";
import { print, printJson, say } from "../output.ts";

/** `gate pending`: what waits for a person, in all projects. */
export function createCommand(io: Io) {
  return new Command("pending")
    .description("List what waits for a person, in all projects.")
    .option("--project <id>", "of this project only")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExamples:\n  gate pending\n  gate pending --json | jq -r '.[].id'\n")
    .action(async ({ project, json }) => {
      const client = await connect(io, { scope: "viewer" });
      const { items } = await unwrap(client.api.global.approvals.pending.$get());
      const held = project ? items.filter((action) => action.project_id === project) : items;
      if (json) return printJson(io, held);
      if (held.length === 0) return print(io, "Nothing is waiting.");
      print(io, actionTable(io, held, Date.now()));
      say(io, "\n  gate show <id>   gate approve <id>   gate reject <id> --reason '…'");
    });
}
