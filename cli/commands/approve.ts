import { Command } from "@commander-js/extra-typings";
import { unwrap } from "../../server/client.ts";
import { findAction, parseIdPrefix } from "../action_id.ts";
import { standing, summarize, waitsForAgent } from "../action_view.ts";
import { connect } from "../connect.ts";
import type { Io } from "../io.ts";
import { paint, print, printJson, say } from "../output.ts";

/** `gate approve <id>`: lets a held action happen. */
export function createCommand(io: Io) {
  return new Command("approve")
    .description("Approve what is held: it happens at once.")
    .argument("<id>", "its id, or a beginning of it that no other action shares", parseIdPrefix)
    .option("--reason <text>", "kept in the audit log")
    .option("--digest <sha256>", "approve only if it still is what this digest names")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      "\nExamples:\n  gate approve 0199a1b2\n  gate approve 0199a1b2 --reason 'fixes the build'\n",
    )
    .action(async (id, { reason, digest, json }) => {
      const client = await connect(io, { scope: "reviewer" });
      const found = await findAction(client, id);
      const action = await unwrap(
        client.api.global.approvals[":id"].approve.$post({
          param: { id: found.id },
          json: { expected_digest: digest ?? found.digest, ...(reason ? { reason } : {}) },
        }),
      );
      if (json) return printJson(io, action);
      print(io, `${paint(io, "green", "✓")} ${standing(action)}: ${summarize(action)}`);
      if (waitsForAgent(action)) say(io, "  the agent runs it when it comes for the answer");
    });
}
