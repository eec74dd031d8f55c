import { Command } from "@commander-js/extra-typings";
import type { ActionDetail } from "../../server/actions/schema.ts";
import { unwrap } from "../../server/client.ts";
import { findAction, parseIdPrefix } from "../actions/find.ts";
import { actionCard } from "../actions/view.ts";
import { openConnection, scopedClient } from "../daemon/connect.ts";
import type { Io } from "../io.ts";
import { print, printJson, say } from "../terminal/output.ts";

/** `gate show <id>`: one action, whole. */
export function createCommand(io: Io) {
  return new Command("show")
    .description("Show one action with everything needed to decide on it.")
    .argument("<id>", "its id, or a beginning of it that no other action shares", parseIdPrefix)
    .option("--json", "print JSON")
    .addHelpText("after", "\nExamples:\n  gate show 0199a1b2\n  gate show 0199a1b2 --json\n")
    .action(async (id, { json }) => {
      const connection = await openConnection(io, { scope: "viewer" });
      const found = await findAction(connection.client, id);
      const client = scopedClient(connection, found.project_id);
      const detail = await unwrap(client.api.actions[":id"].$get({ param: { id: found.id } }));
      if (json) return printJson(io, detail);
      print(io, actionCard(io, detail, Date.now()));
      if (detail.status === "pending") say(io, `\n${waysOn(detail).join("\n")}`);
    });
}

/** What can be typed next; nothing that is known to be refused. */
function waysOn({ id, obstacle, base }: ActionDetail): string[] {
  const rejecting = `  gate reject ${id} --reason '…'`;
  if (obstacle !== null) return [rejecting];
  const approving = `  gate approve ${id}`;
  if (!base) return [approving, rejecting];
  if (base.rebased) return [`${approving} --rebase`, rejecting];
  return ["  gate dashboard", rejecting]; // an edit has to see both
}
