import { Command } from "@commander-js/extra-typings";
import { unwrap } from "../../server/client.ts";
import { findAction, parseIdPrefix } from "../actions/find.ts";
import { summarize } from "../actions/view.ts";
import { connect } from "../daemon/connect.ts";
import type { Io } from "../io.ts";
import { paint, print, printJson } from "../terminal/output.ts";

/** `gate reject <id> --reason`: refuses a held action; the agent is told why. */
export function createCommand(io: Io) {
  return new Command("reject")
    .description("Reject what is held; the agent is told the reason.")
    .argument("<id>", "its id, or a beginning of it that no other action shares", parseIdPrefix)
    .requiredOption("--reason <text>", "what the agent should do instead")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExamples:\n  gate reject 0199a1b2 --reason 'use the staging file'\n")
    .action(async (id, { reason, json }) => {
      const client = await connect(io, { scope: "reviewer" });
      const found = await findAction(client, id);
      const action = await unwrap(
        client.api.global.approvals[":id"].reject.$post({
          param: { id: found.id },
          json: { reason },
        }),
      );
      if (json) return printJson(io, action);
      print(io, `${paint(io, "red", "✗")} rejected: ${summarize(action)}`);
    });
}
