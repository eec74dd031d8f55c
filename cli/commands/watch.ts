import { Command } from "@commander-js/extra-typings";
import type { Io } from "../io.ts";
import { isInteractive } from "../io.ts";
import { watchAndDecide } from "../watch/decide.ts";
import { watchAndPrint } from "../watch/print.ts";

/** `gate watch`: the queue in a terminal. */
export function createCommand(io: Io) {
  return new Command("watch")
    .description("Decide on things as they come; where nobody can be asked, print them.")
    .option("--project <id>", "of this project only")
    .option("--json", "print one JSON object a line and ask nothing")
    .addHelpText(
      "after",
      "\nExamples:\n  gate watch\n  gate watch --json | while read -r action; …\n",
    )
    .action(async ({ project, json }) => {
      const stop = new AbortController();
      const forget = io.onSignal(() => stop.abort());
      const options = { project: project ?? null, signal: stop.signal };
      if (json || !isInteractive(io)) await watchAndPrint(io, { ...options, json: json ?? false });
      else await watchAndDecide(io, options);
      forget();
    });
}
