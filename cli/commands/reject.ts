import { Command } from "@commander-js/extra-typings";
import { unwrap } from "../../server/client.ts";
import { openAction, parseIdPrefix } from "../actions/find.ts";
import { summarize } from "../actions/view.ts";
import { openConnection } from "../daemon/connect.ts";
import type { Io } from "../io.ts";
import { ACTION_ID, examples } from "../options.ts";
import { paint, print, printJson } from "../terminal/output.ts";

/** `gate reject <id> --reason`: rejects a held action and gives the agent the reason. */
export function createCommand(io: Io) {
  return new Command("reject")
    .description("Reject a held action. The agent sees the reason.")
    .argument("<id>", ACTION_ID, parseIdPrefix)
    .requiredOption("--reason <text>", "why, and what the agent should do instead")
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate reject 0199a1b2 --reason 'use the staging file'"))
    .action(async (id, { reason, json }) => {
      const { one, param } = await openAction(await openConnection(io, { scope: "reviewer" }), id);
      const action = await unwrap(one.reject.$post({ param, json: { reason } }));
      if (json) return printJson(io, action);
      print(io, `${paint(io, "red", "✗")} rejected: ${summarize(action)}`);
    });
}
