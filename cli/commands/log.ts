import { Command, Option } from "@commander-js/extra-typings";
import { ActionStatus } from "../../server/actions/schema.ts";
import { unwrap } from "../../server/client.ts";
import { actionTable } from "../action_view.ts";
import { connect } from "../connect.ts";
import type { Io } from "../io.ts";
import { print, printJson } from "../output.ts";
import { countBetween } from "../parsers.ts";

/** `gate log`: what agents did and what came of it. */
export function createCommand(io: Io) {
  return new Command("log")
    .description("List what agents asked for and what came of it, newest first.")
    .option("-n, --limit <count>", "how many, at most 500", countBetween(1, 500), 20)
    .option("--project <id>", "of this project only")
    .addOption(new Option("--status <status>", "of this status").choices(ActionStatus.options))
    .option("--agent <name>", "of this agent")
    .option("--path <path>", "of this path")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExamples:\n  gate log\n  gate log --status blocked -n 100\n")
    .action(async ({ limit, json, ...filters }) => {
      const client = await connect(io, { scope: "viewer" });
      const query = { limit: String(limit), ...filters } as Record<string, string>;
      const { items } = await unwrap(client.api.global.actions.$get({ query }));
      if (json) return printJson(io, items);
      print(io, items.length ? actionTable(io, items, Date.now()) : "Nothing has happened yet.");
    });
}
